"""Hints for the exercises of the chapters 21 to 27."""

HINTS = {
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
    "disguised": (
        "At which setting is a variant plain attention? Its docstring says: Is MHA when.",
        "Grouped attention with as many heads of keys as of queries has the same parameters.",
        "variants.GroupedQueryAttention(12, 3, 3), then load_state_dict(plain.state_dict()).",
    ),
}
