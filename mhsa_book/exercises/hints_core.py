"""Hints for the functions that one attention needs."""

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
        "One token asks; all that came before, and itself, can be looked at.",
        "Project and split x; its key and value go behind the old ones, on the axis of tokens.",
        "No mask is needed: nobody in the cache is later. Return the row, keys, values.",
    ),
    "grouped_attend": (
        "Each key head serves n_heads / n_kv_heads queries.",
        "Query heads 0 and 1 share key head 0 if there are two for each.",
        "repeat_interleave along the axis of heads, for keys and for values; then attend.",
    ),
    "MyAttention": (
        "__init__ makes four nn.Linear(d_model, d_model, bias=False); forward the five stages.",
        "Queries come from x; keys and values from context, or from x if there is none.",
        "forward: project, split_heads, attend, concat_heads, W_O; the functions exist.",
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
}
