"""Hints for the exercises of the chapters 00 to 10 that are not one of the core functions."""

HINTS = {
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
    "same_average": (
        "0.7 times the first value plus 0.3 times the second shall be 3.8.",
        "Choose the first value as you like.",
        "With 0 as the first, the second is 3.8 / 0.3.",
    ),
    "uncut": (
        "A wide head is one dot product over all columns: what is it in parts?",
        "The dot product of the whole is the sum of the parts' dot products.",
        "The scores given were divided by √d_head; the wide head divides by √(n_heads d_head).",
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
    "unpack": (
        "Draw the columns for two heads: q of head 0, k of head 0, v of head 0, q of head 1 …",
        "Cut into heads first, and only then each head into three.",
        "rows.chunk(n_heads, dim=-1), each .chunk(3, dim=-1); then all first thirds together.",
    ),
    "next_word": (
        "The block there turns the hands back by one word. What turns them forward?",
        "A turn and the turn in the other direction undo each other.",
        "The inverse of a turn is its transpose; the length, 3, stays.",
    ),
    "place_in_memory": (
        "How many numbers lie before the second sentence? How many before its word 4?",
        "A sentence has 7 · 12 numbers, a word 12, a head 4.",
        "84 for the sentence, 4 · 12 for the word, 4 for the head, and 2.",
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
    "attend_elsewhere": (
        "With k = q the score of a for itself is a·a, and for b it is a·b.",
        "Let a be (1, 0). What is a·b then?",
        "b needs a first number larger than 1; the second may be anything.",
    ),
    "packed_documents": (
        "Draw the triangle of four words, then that of three.",
        "Where a query and a key are of different documents, there is a dot.",
        "With a tensor of document numbers: masks.causal & a custom mask of equal numbers.",
    ),
    "owner_of_column": (
        "Head 0 writes the columns 0 to 63, head 1 the columns 64 to 127.",
        "How often does 64 fit into 200, and what is left?",
        "divmod(200, 64).",
    ),
    "views": (
        "In the result of concat the first number of head 1 follows the last of head 0.",
        "So a step to the next head has to be as long as a head.",
        "d_head is 3: in which rows is the second stride 3?",
    ),
    "mixes_up": (
        "Which symmetry has attention without a mask?",
        "Reverse the words of x. What happens to the rows of a right output?",
        "Compare layer(x.flip(0)) with layer(x).flip(0), with a tolerance.",
    ),
    "w_o_rows": (
        "Which columns of concat are head 5's? Rows of W_O belong to columns of concat.",
        "A head is 512 / 8 columns wide.",
        "From 5 · 64 to 6 · 64 − 1, each row with 512 numbers.",
    ),
    "heads_wrote": (
        "Each head has rows of W_O of its own: how many?",
        "Cut the rows of W_O into (head, d_head).",
        "z @ W_O.unflatten(0, (n_heads, d_head)): the product is done head by head.",
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
}
