"""Hints for every exercise: three each, from where to look to nearly all."""

HINTS = {
    "split_heads": (
        "Write down the shape before and after: which axis is cut, and which axis is moved?",
        "A row has n_heads pieces of d_head numbers each; `reshape` can name them.",
        "After reshape(batch, seq, n_heads, d_head) two axes still have to change places.",
    ),
    "concat_heads": (
        "What did split_heads do last? Undo that first.",
        "A row of the result holds all heads of one token, head 0 first.",
        "transpose(1, 2), and then the last two axes become one with `reshape`.",
    ),
    "score": (
        "One number for every query and every key: (…, query, key).",
        "It is a matrix product; the axis that is summed is d_head, in both.",
        "Keys have to be transposed in their last two axes; multiply with scale at the end.",
    ),
    "softmax": (
        "Without a mask it is torch's. Which axis has to sum to 1?",
        "A hidden key must have e to the score = 0. For which score is that?",
        "Where no key is left, −∞ alone gives 0 / 0: leave such a row as it is, and set its "
        "weights to 0 at the end.",
    ),
    "causal_mask": (
        "Draw it for 3 queries and 3 keys; then for 1 query and 3 keys, as with a cache.",
        "The queries are the last tokens: query i is token i + n_key − n_query.",
        "Compare the positions of keys, as a row, with those of the queries, as a column.",
    ),
    "padding_mask": (
        "Which keys of a sentence with 2 words are words? Those at places 0 and 1.",
        "Compare torch.arange(n_key) with the lengths as a column.",
        "Put an axis for heads and one for queries between batch and key.",
    ),
    "attend": (
        "Three steps: scores, softmax, mix.",
        "The scale is 1 / √d_head; d_head is the last axis of q.",
        "The weights times the values, as a matrix product; the mask goes into the softmax.",
    ),
    "multi_head_attention": (
        "You have written all five stages; here they only follow each other.",
        "x @ W_Q, x @ W_K, x @ W_V, each split; then attend; then concat.",
        "The last step is @ W_O.",
    ),
    "kv_cache_step": (
        "kv_cache_step(x, k, v, W_Q, W_K, W_V, W_O, n_heads): x is one token; k, v are split "
        "already. The token asks; all that came before, and itself, can be looked at.",
        "Project and split x; its key and value go behind the old ones, on the axis of tokens.",
        "No mask is needed: nobody in the cache is later. Return the row, keys, values.",
    ),
    "grouped_attend": (
        "grouped_attend(q, k, v, n_heads, n_kv_heads), all split already: each key head serves "
        "n_heads / n_kv_heads queries.",
        "Query heads 0 and 1 share key head 0 if there are two for each.",
        "repeat_interleave along the axis of heads, for keys and for values; then attend.",
    ),
    "MyAttention": (
        "__init__ makes four nn.Linear(d_model, d_model, bias=False); forward the five stages.",
        "Queries come from x; keys and values from context, or from x if there is none.",
        "forward: project, split_heads, attend, concat_heads, W_O; the functions exist.",
    ),
    "attention_in_the_model": (
        "Give each axis a letter: b, q and k for tokens, h, d, and m for d_model.",
        "Cut the matrices instead of the rows: W_Q.unflatten(1, (n_heads, -1)) is (m, h, d).",
        "The last einsum sums over h and d: it needs z (b, h, q, d) and W_O as (h, d, m).",
    ),
    "all_heads_at_once": (
        "What is a loop over heads for? A matrix product repeats itself over leading axes.",
        "q is (head, query, d_head), and k.mT is (head, d_head, key).",
        "q @ k.mT has a table of scores for each head; so has the softmax over the last axis.",
    ),
    "sees_the_future": (
        "If no row sees a later token, what must stay as it is when the last token changes?",
        "Ask twice, the second time with another last token. Compare the rows before it.",
        "All rows before it, not the first alone: a mask may let through one token too many. "
        "And take more than two tokens, with drawn numbers; zeros hide products.",
    ),
    "changed_rows": (
        "A row receives only from itself and from rows before it. Which rows come later?",
        "With attention: all rows from the name on. The name is the second of 14 tokens.",
        "Without attention every row is alone, so ask which tokens are different.",
    ),
    "blind_pair": (
        "Without attention the guess depends on one token. Which?",
        "Two prompts with the same last token, about different things: The opposite of … is",
        "Print models.next_words(lm, text) for both, until the two answers differ.",
    ),
    "four_heads": (
        "itertools.combinations(nine, 4) has 126 groups. Try one before you try them all.",
        'The description names the likelier one first: look for "off: John" in it.',
        "One group has three of the six heads for Mary, and L24H4, which argues against her.",
    ),
    "shares_of_the_mix": (
        "Which words have a 1 in the column *place*?",
        "A column in which one word alone has a 1 gives the share of that word.",
        "*place* gives street, *quality* gives tired; the three shares sum to 1.",
    ),
    "soften": (
        "e to the power of every score, divided by the sum of its row.",
        "Try it on a 2 by 2 table: do the rows sum to 1, or the columns?",
        "sum(dim=-1, keepdim=True) keeps a column that divides each row by its own sum.",
    ),
    "scores_for_shares": (
        "One half, one quarter, one quarter are as 2 to 1 to 1.",
        "Powers of 2, 1 and 1 have these shares; which score has the power 1?",
        "e to the power of 0 is 1, and e to the power of math.log(2) is 2.",
    ),
    "weight_of_animal": (
        "A share is a power divided by the sum of all powers.",
        "e to the power of 0 is 1, and six words have this score.",
        "2981 for animal, and 1 for each of the six others.",
    ),
    "one_head": (
        "Three products with x, a table of weights, one product with the values.",
        "The scale is one over the root of the number of columns of q; read it off q.",
        "q.shape[-1] ** 0.5 divides q @ k.mT; softmax over dim=-1; times v.",
    ),
    "half_and_half": (
        "The last word looks for what is marked like its own kind: living, or place.",
        "Two words that fit equally well get equally much.",
        "Two living things in one sentence, and a last word that asks for a living thing.",
    ),
    "too_can_decide": (
        "On what does the score of *too* for *animal* depend?",
        "Its query is made from the row of too, which is the same in both sentences.",
        "Equal queries and equal keys give equal scores: which is larger cannot change.",
    ),
    "heads_needed": (
        "What does one head bring to a player? One sum of messages, whose weights sum to 1.",
        "W_O can multiply this one sum by any matrix, but it cannot take the sum apart.",
        "Is the wish one sum with weights that are not negative? Then one head will do.",
    ),
    "better_with_one_map": (
        "Put edit(lm.attention(layer), …) into a loop over the layers 16 to 24.",
        "Chapter 00 has three heads that hold Mary back. In which of these layers are they?",
        "L24H4 takes most of its weight from Mary, and pushes against her.",
    ),
    "one_head_is_enough": (
        "Two questions spoil each other when their answers are different words.",
        "Which word is the previous word of the last one? You choose it.",
        "Put the noun that is meant right before the quality.",
    ),
    "key_of_wide": (
        "A key is the row of x times W_K; the row has 1 at place and at quality.",
        "So the key is the sum of two rows of W_K, in the columns of the first head.",
        "Row place is (0, 4, 0, 0), row quality is (−4, −4, 0, 0).",
    ),
    "query_of_token_1": (
        "A query is a row of x times W_Q; head 0 has the first two columns of W_Q.",
        "The first number: −0.5 · 0.1 + 1 · (−0.2) + 0.3 · 1.0 + (−2) · 0.5.",
        "The second number takes column 1: 0.4, 0.3, −0.5 and 0.2.",
    ),
    "place_finds_living": (
        "One column can do: in W_Q the row of what asks, in W_K the row of what offers.",
        "*place* asks and *living* offers. But which other words have a 1 in *living*?",
        "Let *quality* take away in W_K what *living* gives. W_V hands on both kinds.",
    ),
    "different_rows": (
        "x has only the columns that say what a word is. Which rows of x are equal?",
        "Equal rows of x make equal queries, and all words have the same keys and values.",
        "The word *the* occurs twice; the other three words once each.",
    ),
    "next_word": (
        "The block that is there rotates back by one word. What rotates forward?",
        "A rotation and the rotation in the other direction undo each other.",
        "The inverse of a rotation is its transpose; the length, 3, stays.",
    ),
    "folded_bias": (
        "The weights of a word sum to 1, so what b_V adds to every value is in z as it is.",
        "After z comes W_O, and b_O is added behind it.",
        "b_V @ W_O is a constant row of y, and so is b_O.",
    ),
    "first_spread": (
        "A number of q is a sum of 768 products. What is the variance of each?",
        "768 · 0.02² is the variance of a number of q, and of a number of k.",
        "q · k has 64 terms of variance (768 · 0.02²)²; then it is divided by √64.",
    ),
    "biases_that_matter": (
        "Without rotation b_K adds q_i · b_K to all scores of query i. And with it?",
        "The rotated b_K points elsewhere at each key.",
        "Weights are made of queries and keys alone.",
    ),
    "place_in_memory": (
        "How many numbers lie before the second sentence? How many before its word 4?",
        "A sentence has 7 · 12 numbers, a word 12, a head 4.",
        "84 for the sentence, 4 · 12 for the word, 4 for the head, and 2.",
    ),
    "harmless_view": (
        "Memory is one line. When does the order (head, word) equal the order (word, head)?",
        "Try it: compare `q.view(…)` with the right split for each of the five shapes.",
        "Two axes can be exchanged without moving anything if one of them has length 1.",
    ),
    "keeps_words_apart": (
        "You choose the (2, 7, 12) that is split: make it easy to recognise.",
        "Give every number of a word the same value, and every word its own.",
        "After the split, heads[b, h, i] has to be the value of word i of sentence b.",
    ),
    "attend_by_hand": (
        "The powers are 1, 2 and 5. What is their sum?",
        "Each weight is its power divided by 8.",
        "8 times 1/8, plus 4 times 2/8, plus 0 times 5/8.",
    ),
    "article_finds_noun": (
        "A dot product adds up: some dimensions can ask for a noun, others for where it is.",
        "Dimension 0: every article asks for *noun*, and nouns offer it. Dimensions 1 to 8: "
        "one for each seat, which a word offers where it stands.",
        "Seat i asks seat j with a number that falls with the distance j − i, and with a very "
        "low one where j ≤ i. The noun must count for more than a few seats do.",
    ),
    "attend_exchanged": (
        "Now the key of *animal* asks, and the queries are what the words offer.",
        "Which queries have a 4 where the key of *animal* has its 4?",
        "*Animal* itself and *tired* do, with score 8 each; the other scores are 0.",
    ),
    "nothing_asked": (
        "What is the dot product of (0, 0, 0, 0) with any key?",
        "All scores are equal. What does the softmax make of equal scores?",
        "A third of 8, a third of 4 and a third of 0.",
    ),
    "pushes": (
        "First z: half of 4, a quarter of 0, a quarter of 8.",
        "The push on a score is its weight times (its value minus z).",
        "1/2 · (4 − 4), then 1/4 · (0 − 4), then 1/4 · (8 − 4).",
    ),
    "factor_of_cosines": (
        "With a factor t the scores are t once, and 0 six times.",
        "The weight is e^t / (e^t + 6).",
        "e^t has to be nine times 6.",
    ),
    "attend_elsewhere": (
        "With k = q the score of a for itself is a·a, and for b it is a·b.",
        "Let a be (1, 0). What is a·b then?",
        "b needs a first number larger than 1; the second may be anything.",
    ),
    "which_mask_mistake": (
        "In which maps does a word attend to later words?",
        "In which maps do the rows of *the* and *animal* not sum to 1?",
        "Of the two with an empty upper triangle, one has lost the weight of the verb.",
    ),
    "window_and_first": (
        "How many words before the query is the key? It is query - key.",
        "A window of 3 holds the distances 0, 1 and 2.",
        "Then let the first word in with |, and mind that & binds more tightly.",
    ),
    "packed_documents": (
        "Write the number of its document for each token: torch.repeat_interleave can.",
        "Two tokens belong together where their numbers are equal; tril() hides what is later.",
        "torch.cat of one torch.arange(length) for each document makes the positions.",
    ),
    "repairable": (
        "W_O does the same with every row, and it sees one row at a time.",
        "Which tables hold, in each row, the same four numbers as A?",
        "Another order of the numbers in a row asks for another order of the rows of W_O.",
    ),
    "mixes_up": (
        "Which symmetry has attention without a mask?",
        "Reverse the words of x. What happens to the rows of a right output?",
        "Compare layer(x.flip(0)) with layer(x).flip(0), with a tolerance.",
    ),
    "without_w_o": (
        "The row that is added would be concat itself. Which part of it is head 0's?",
        "9 heads share 576 dimensions.",
        "(d_head, how many dimensions are in both parts).",
    ),
    "wrote_from": (
        "What does a word hand over, before anybody says how much of it is taken?",
        "v @ W_O.unflatten(0, (n_heads, d_head)) has a row for each head and key.",
        "Give it an axis for queries and the weights an axis for d_model, and multiply.",
    ),
    "w_o_kernel": (
        "What a head hands over is x times W_V times its rows of W_O: a matrix. Of which rank?",
        "A product of a (12, d_head) and a (d_head, 12) matrix has at most the rank d_head.",
        "The matrix to copy has rank 12.",
    ),
    "w_o_twin": (
        "What reaches y is z times the rows of W_O: change both, and let the product stay.",
        "Double one and halve the other.",
        "Rows 0 to 3 of W_V.weight times 2; columns 0 to 3 of W_O.weight divided by 2.",
    ),
    "from_two_names": (
        "tokens.index finds the first place of a token; the second John is at place 9.",
        "writes(25, 2, place), once for each of the two places.",
        "lm.points_to(writes(25, 2, place), 1)[0]",
    ),
    "first_number": (
        "Token 0 sees only itself: which weight has it?",
        "So z of each head is its own values, and concat is all its values in a row.",
        "x with the middle columns exchanged, times the first column of W_O.",
    ),
    "cross_attention": (
        "Which of q, k and v are made by those who ask?",
        "Queries come from x; keys and values come from context.",
        "x @ W_Q, context @ W_K, context @ W_V; the rest stays, and there is no mask.",
    ),
    "unnoticed": (
        "Which steps do nothing when there is one head?",
        "A transpose of an axis of length 1 moves nothing in memory.",
        "Leave the transpose out of concat, and reshape z to the shape of x.",
    ),
    "by_hand": (
        "The greeting comes first and the verb last; what stands between?",
        "rolan, miran and sevan are wet verbs: that decides which word noso becomes.",
        "A number says how often its noun is written; the verb ends in the greeting's vowel.",
    ),
    "shifted_by_hand": (
        "What does the decoder know when it has to say the first word?",
        "The given rows are one place later than the wanted ones, and begin with BOS.",
        "torch.cat of a column of BOS and target[:, :-1]; wanted is target itself.",
    ),
    "rows_projected": (
        "The decoder is called once for each word, and once more for the end.",
        "With the cache the memory is projected in one call only.",
        "12 rows once; or 12 rows in each of 13 calls.",
    ),
    "one_word_decides": (
        "Which words have two translations, and who decides between them?",
        "The verb decides what a noun of two senses means.",
        "The same sentence twice, with such a noun; a wet verb in one, a dry one in the other.",
    ),
    "layer_without_rest": (
        "[CLS] is the first token: which column of a map is it?",
        "Look for a layer in which no first column is dark.",
        "It is the layer that reads the words before any other layer has.",
    ),
    "positional_with_ends": (
        "Which slice keeps everything?",
        "slice(None) is a slice without ends.",
        "Count hit_rate(offset, own) >= 0.9 for the offsets −1 and 1, over all heads.",
    ),
    "after_articles": (
        "A score for each head: what is large for it after an article and small elsewhere?",
        "The weights on the next token stand on the diagonal with offset 1.",
        "Mean of that diagonal after articles, minus its mean after all other words.",
    ),
    "usual_offsets": (
        "The arc goes from the object to its verb: before it, or after it?",
        "In 'she read a book' the verb of 'book' stands two words back.",
        "Read the column of the best offset: minus for back.",
    ),
    "passive_subjects": (
        "arcs.of_a_class gives a guess for every arc, by the name of the class.",
        "Take 'next verb' from what it returns: True where the guess is right.",
        "The share is the mean of these as numbers.",
    ),
    "held_out": (
        "Two sets of arcs: those of even sentences choose, the others report.",
        "The best head is the argmax of the mean of hits[even] over arcs.",
        "hits[~even, best] as numbers, and their mean.",
    ),
    "without_the_encoder": (
        "translation.without(model, heads) switches heads off inside a with block.",
        "translation.heads_of(small, 'encoder self-attention') names the eight.",
        "translation.by_task(nats − whole, pairs)['sense'], computed inside the block.",
    ),
    "rank_correlation": (
        "The rank of a number is how many of its list are smaller.",
        "argsort says where each place's number stands; argsort of that says the ranks.",
        "torch.corrcoef of the two rows of ranks, as float, at [0, 1].",
    ),
    "by_its_mean": (
        "How many means are there? One for each column of the head.",
        "The mean goes over sentences and tokens, dim=(0, 1).",
        "expand_as(z) gives every token that row.",
    ),
    "parameters_of_a_head": (
        "In how many of the four maps has a head numbers of its own?",
        "64 rows of W_Q, of W_K and of W_V, and 64 columns of W_O.",
        "Each of these rows and columns has 512 numbers.",
    ),
    "share_closed": (
        "HardConcrete takes log_alpha when it is made.",
        "probabilities() has three numbers: closed, between, open.",
        "HardConcrete(1, log_alpha=-2.0).probabilities().closed",
    ),
    "heads_kept": (
        "Which rows of W_Q make the queries of head h? d_head of them, side by side.",
        "The same numbers are the columns of W_O that read head h.",
        "A list of h · d_head + i for each head kept and each i; rows here, columns there.",
    ),
    "hesitating_head": (
        "Switch off one head at a time and read the two largest shares.",
        "To choose between 4 and 6 the model has to know what stood before each a.",
        "Look for the head of layer 0 that looks two tokens back.",
    ),
    "without_the_note": (
        "What each head of layer 0 adds is its part of z, through W_O.",
        "Set the z of head 2, the previous-token head, to 0 and keep the others.",
        "x + first.W_O(first.concat(z with that head at 0)).",
    ),
    "first_wins": (
        "The model asks what followed the last x. What could make it prefer the first one?",
        "It compares two tokens: x, and what stands before x.",
        "Let the first x and the last x have the same predecessor.",
    ),
    "look_ups_at_once": (
        "A head compares in at most d_head numbers.",
        "Codes of 16 signs need heads of 16 columns.",
        "How many heads of 16 columns have 64 columns in all?",
    ),
    "find_themselves": (
        "The score of two codes is the product of their numbers a·s₁ + b·s₂.",
        "A code finds itself if no other number gives a larger product with its own.",
        "Compute the table number[:, None] * number, and compare each row's argmax with i.",
    ),
    "tells_apart": (
        "What changes in the score when one sign of c′ differs? Twice one column of A.",
        "It must fall for every code: think of the code that makes it fall least.",
        "Each diagonal number has to exceed the sum of the sizes of the rest of its column.",
    ),
    "equal_flops": (
        "Write both counts with d = d_model and n tokens.",
        "Projections: 5nd² with eight key heads for 32; scores and mix: 4n²d.",
        "5nd² = 4n²d: solve for n, with d = 4096.",
    ),
    "checked_at_once": (
        "Which of the two sizes grows when several guesses are checked in one step?",
        "The batch stays 1; n_query is the size.",
        "grows = {'batch': 1, 'n_query': size}; n_tokens is then found.",
    ),
    "least_seconds": (
        "roofline.stages gives the work of the three stages for one layer.",
        "roofline.seconds(part, *h200) is the least time of one of them.",
        "80 layers times the sum over work.values(), with n_key=131_072 and batch=batch.",
    ),
    "causal_blocks": (
        "How many blocks of 128 are there along each side?",
        "Blocks above the diagonal are hidden whole; those on it are computed.",
        "16 on the diagonal, 16 · 15 / 2 below it, of 16 · 16.",
    ),
    "masked_online": (
        "Where is a score that must not count? It should be −∞ before the maximum is taken.",
        "Cut the mask like the keys, and hand each piece in beside K and V.",
        "scores = (q @ K.mT).masked_fill(~M, -inf); all other lines stay.",
    ),
    "merge": (
        "What share of the whole total has each half?",
        "The totals are exp(log_a) and exp(log_b); their shares are a softmax of the two.",
        "Of two numbers that is sigmoid(log_a − log_b): a mean of z_a and z_b with it.",
    ),
    "believed": (
        "An A/A pair is the same code twice. How far apart may it come out here?",
        "A gain is believed when the upper quartile, too, lies below the band.",
        "The band ends at 0.95: whose three numbers are all below it?",
    ),
    "ratio_of_rounds": (
        "In one round both were timed on the same machine, at the same speed.",
        "So divide round by round: one ratio for each.",
        "statistics.median(a / b for a, b in zip(ours, raw))",
    ),
    "gate": (
        "Draw q, k and v with `draw`, run the formula and the implementation, and compare.",
        "What does a comparison with NaN say? And would one sequence tell about a batch?",
        "torch.allclose(run(q, k, v), right(q, k, v), atol=1e-5) is False for NaN.",
    ),
    "sequences_that_fit": (
        "First the bytes of one token: layers · 2 · key heads · width · bytes.",
        "28 · 2 · 4 · 128 · 2 for a token, times 32,768 for a sequence.",
        "60 · 2**30 divided by that, rounded down.",
    ),
    "other_pairing": (
        "Changing the pairing alone changes the scores: what has to change with it?",
        "The rows of W_Q and W_K are reordered inside every head.",
        "pairing.with_pairing(meta, rope.HALVES) does both.",
    ),
    "latents_that_fit": (
        "What does a token leave in one layer? A latent, and what else?",
        "(512 + 64) numbers of 2 bytes, in 61 layers.",
        "60 * 2**30 divided by that, rounded down.",
    ),
    "absorbed_scores": (
        "The scores are q (c W_UK)ᵀ. Where may the brackets stand?",
        "(c W_UK)ᵀ = W_UKᵀ cᵀ, so q can meet W_UKᵀ first.",
        "(q @ W_UK.mT) @ latents.mT",
    ),
    "compressed": (
        "Which matrices of rank d_latent lie closest to W?",
        "torch.linalg.svd(W, full_matrices=False) gives U, S, V; the largest come first.",
        "Down: U[:, :width] * S[:width]; up: V[:width].",
    ),
    "rounded": (
        "256 values: choose how large a step is, then round to whole steps.",
        "The largest number should be 127 steps away from 0.",
        "step = t.abs().max() / 127; (t / step).round() * step",
    ),
    "shapes_of_a_rank": (
        "64 query heads and 8 key heads, shared out to 8 ranks.",
        "A head is 8192 / 64 columns wide.",
        "W_Q has (8 heads · 128, 8192); W_K one head's rows; W_O the other way round than W_Q.",
    ),
    "rows_of_a_rank": (
        "Rank 0 needs half of the queries, half of the keys and half of the values.",
        "Rows 0 to 15 are queries, 16 to 19 keys, 20 to 23 values.",
        "0 to 7, 16 and 17, 20 and 21.",
    ),
    "repeated": (
        "Which weights have to be written down more than once? Those of keys and values.",
        "Cut W_K into heads, and repeat each head, neighbours together: k₁ k₁ k₂ k₂.",
        "unflatten(0, (n_kv_heads, d_head)).repeat_interleave(times, dim=0).flatten(0, 1)",
    ),
    "width_of_plain_scores": (
        "Plain heads together compare in 1024 columns, each head in its own 64.",
        "Shared columns are used by all 16 heads: how many of them cost as much?",
        "64; in the cache then stand 64 for the key, 16 for the content, 1024 for the values.",
    ),
    "opposed_row": (
        "A row of the mixing says how much of each shared column a head takes.",
        "The score is linear in this row.",
        "The row of head 0 with the other sign.",
    ),
    "three_rows": (
        "Each row weighs the four columns for one head.",
        "Rows that differ in their signs give different scores.",
        "Three rows of 1 and −1, no two of them alike, none with a 0.",
    ),
    "columns_of_head_5": (
        "Without an overlap head 5 reads the columns 80 to 95.",
        "With it, four more on each side.",
        "Head 6 begins four columns before its own: count what both read.",
    ),
    "ring_of_heads": (
        "The line pads with a zero on each side. What should stand there in a ring?",
        "Before column 0 the last column, and after the last the first.",
        "torch.cat([columns[-1:], columns, columns[:1]]), then the same unfold.",
    ),
    "carrying": (
        "Write a split whose q and k are those of Split, and whose v is wider.",
        "library.overlap_heads(v, 1) reads one more column on each side.",
        "z is then wider too, 3 heads of 6: W_O needs torch.nn.Linear(18, 12).",
    ),
    "sum_of_gates": (
        "What is a softmax of zeros, and by what is it multiplied?",
        "With the released scaling each gate that counts is 1 there.",
        "4 shared and 8 active ones count.",
    ),
    "router_learns": (
        "Which other loss of the chapter depends on the shares, and not on the output?",
        "The balance loss reaches W_R.",
        "loss + 0.01 * balance_loss(one)",
    ),
    "router_by_sign": (
        "Two shares that sum to 1, for each token; the larger is taken.",
        "x[..., 0] is the first column. What is largest when it is negative?",
        "A softmax over the two numbers x[..., 0] and −x[..., 0].",
    ),
    "composed_numbers": (
        "w1 reads: the sum of a times w1. w2 writes: that number times w2.",
        "The gate adds each number of a times its own factor.",
        "0.7 is read; 1.4 goes to head 2; 0.3 times −0.5 is added there.",
    ),
    "heads_exchanged": (
        "Which matrix exchanges heads 0 and 1?",
        "a itself is added: the whole map is the identity plus W_b.",
        "The identity with its rows 0 and 1 exchanged, minus the identity.",
    ),
    "vote": (
        "What should stand there afterwards? The mean over heads.",
        "What mix returns is added to a.",
        "a.mean(dim=-3, keepdim=True) - a",
    ),
    "without_the_sink": (
        "The weights that are left shall sum to 1 again.",
        "They sum to 0.25 now.",
        "The factor is 1 / 0.25.",
    ),
    "bias_for_sixty": (
        "All scores are 0: each of 60 weights should be near 1/60.",
        "What is the sigmoid of −ln n?",
        "−ln 60.",
    ),
    "quiet": (
        "One more key with the score 0: append a column of zeros to the scores.",
        "Its value is zero, so its weight is dropped after the softmax.",
        "nn.functional.pad(scores, (0, 1)), softmax, [..., :-1]; pad a mask with True.",
    ),
    "head_budget": (
        "How many bytes does a token leave in one layer? A key and a value of 8 heads.",
        "18 layers keep all 131,072 tokens, 18 keep 128.",
        "2 * 8 * 64 * 2 * (18 * 131_072 + 18 * 128)",
    ),
    "delta_step": (
        "What does the state say about k now? That is k @ S.",
        "It should say v. The difference, v - k @ S, goes to the row of k.",
        "S + b * torch.outer(k, v - k @ S)",
    ),
    "copied_share": (
        "Where does a head look most at every step? weights.argmax(-1).",
        "A step counts if that place is in the needle and holds the token that is written.",
        "Collect the tokens of these steps in a set, and divide by the needle's set.",
    ),
    "window_reach": (
        "How far back does one layer reach? A window counts the own token.",
        "The token 127 back has itself gathered from 127 further back, one layer below.",
        "40 * (128 - 1)",
    ),
    "state_break_even": (
        "A state of float32 has 4 bytes a number, and there is one for each head.",
        "A token leaves 576 numbers of 2 bytes. How many tokens leave as much as a state?",
        "math.ceil(4 * 32 * 128 * 128 / (2 * 576))",
    ),
    "summaries": (
        "Leave out the tokens at the end that do not fill a block: len(v) // m * m.",
        "unflatten(0, (-1, m)) makes blocks of m rows; the weights sum to 1 over dimension 1.",
        "(gate.softmax(1) * v).sum(1), with both cut into blocks.",
    ),
    "smaller_caches": (
        "What does plain attention leave of a token? 2 · 4,096 numbers.",
        "sum(cost.cached.values()) of each, in the table.",
        "Three are below 8,192; one of them shares key columns among all heads.",
    ),
    "equal_latent": (
        "8 key heads of 128 leave a key and a value: how many numbers?",
        "2,048. Latent attention leaves d_latent + 64.",
        "2 * 8 * 128 - 64",
    ),
    "crossing": (
        "find(name).kept_bytes(n) is the number of bytes. Which model starts higher?",
        "Try n = 1,000, 2,000, 3,000, … until K3 is below.",
        "min(n for n in range(1, 200) if kimi.kept_bytes(1000 * n) < oss.kept_bytes(1000 * n))",
    ),
    "disguised": (
        "At which setting is a variant plain attention? Its docstring says: Is MHA when.",
        "Grouped attention with as many heads of keys as of queries has the same parameters.",
        "variants.GroupedQueryAttention(12, 3, 3), then load_state_dict(plain.state_dict()).",
    ),
}
