"""What a logit difference is per unit of what one head found."""

import torch


def toward(lm, text, pair, layer, head):
    """What the lead is per unit of z of a head, with the last norm's scale held."""
    decoder, ids = lm._runner.decoder, lm.ids(text)
    with torch.no_grad():
        x = decoder.embed(torch.tensor([ids]))
        for each in decoder.layers:
            x = each(x)
    last = x[0, -1]
    scale = (last.square().mean() + decoder.norm.eps).rsqrt()
    rows = decoder.embed.weight[[lm.id(f" {name}") for name in pair]]
    wanted = (rows[0] - rows[1]) * decoder.norm.weight * scale
    return wanted @ lm.attention(layer).W_O.weight[:, 64 * head : 64 * (head + 1)]
