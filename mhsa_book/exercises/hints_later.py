"""Hints for the exercises of the chapters 11 to 20."""

HINTS = {
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
}
