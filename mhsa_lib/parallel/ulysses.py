"""Tokens on several devices: every rank keeps a block of the text, and heads are exchanged.

    rank 0: tokens 0-2, all heads  ─┐             ┌─ rank 0: heads 0, 1, all tokens
                                    ├ all-to-all ─┤                                  (and back)
    rank 1: tokens 3-5, all heads  ─┘             └─ rank 1: heads 2, 3, all tokens

Source: Jacobs et al., "DeepSpeed Ulysses", arXiv 2309.14509.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from mhsa_lib import copying
from mhsa_lib._torch_private import all_to_all
from mhsa_lib.parallel.one_rank import divisible
from mhsa_lib.parallel.tensor_parallel import divide_masks, sum_gradients
from mhsa_lib.tracing.hooks import acting


class ExchangedAttend(nn.Module):
    """Attend to all tokens with the heads of this rank; come and go with all heads."""

    def __init__(self, attend: nn.Module, mesh: DeviceMesh) -> None:
        super().__init__()
        self.attend, self.mesh = attend, mesh

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Any = None) -> Tensor:
        """As ``Attend``, of heads (…, head, token, d_head); every rank has as many tokens."""
        if acting(self):
            raise ValueError(
                "ExchangedAttend cannot be combined with a cache: every rank would append the "
                "keys of its own block, so they would not be in the order of the text. Decode "
                "with an attention that is whole, or with one of parallel.parallelize."
            )
        _same_everywhere(self.mesh, q, k)
        q, k, v = (self.exchange(heads, cut=-3, join=-2) for heads in (q, k, v))
        return self.exchange(self.attend(q, k, v, mask), cut=-2, join=-3)

    def exchange(self, mine: Tensor, cut: int, join: int) -> Tensor:
        """Give rank i part i of the axis ``cut``; join the parts that come along another."""
        parts = torch.stack(mine.chunk(self.mesh.size(), dim=cut))
        return torch.cat(all_to_all(parts, self.mesh.get_group()).unbind(), dim=join)


def exchange_heads(attention: Any, mesh: DeviceMesh) -> Any:
    """Let every rank of ``mesh`` keep a block of the tokens: one stage, attend, is replaced.

    Project, split, concat and W_O treat every token alone, so a rank does them for its own
    tokens. Attend needs all tokens, but one head at a time, so an all-to-all before it gives
    every rank all tokens of some heads, and one after it turns that back.

    Every rank calls this, then the result with its own block, ``x.chunk(ranks, dim=-2)[rank]``,
    and gets its block of ``y``; a mask is that of the whole text. Weights are those of rank 0,
    whole on every rank, and their gradients are added up.

    Raises, before anything is changed, ``TypeError`` for another attention than the five stages
    and ``ValueError`` for another stage in it (a rotary split would take the first token of
    every block for the first of the text), for heads or KV heads that ranks cannot share evenly
    and for a mesh of several axes; in a pass ``ValueError`` for blocks of different lengths,
    and with a cache.

    >>> from mhsa_lib import MultiHeadAttention
    >>> alone = {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    >>> dist.init_process_group("gloo", **alone)  # torchrun tells all but the backend
    >>> mha = exchange_heads(MultiHeadAttention(12, 4), dist.init_device_mesh("cpu", (1,)))
    >>> mha(torch.randn(6, 12)).shape
    torch.Size([6, 12])
    >>> dist.destroy_process_group()
    """
    if mesh.ndim != 1:
        raise ValueError(f"mesh has {mesh.ndim} axes; tokens are cut along one, mesh['sp'].")
    action = "may need the positions of all tokens, or mix its heads"
    copying.check_stages(attention, action, "replace that stage, or cut by heads")
    divisible(attention, mesh.size())
    divide_masks(attention, mesh, attention.n_heads)
    for parameter in attention.parameters():
        dist.broadcast(parameter.data, group=mesh.get_group(), group_src=0)
    for module in attention.modules():
        sum_gradients(module, mesh, [*dict(module.named_parameters(recurse=False))])
    attention.attend = ExchangedAttend(attention.attend, mesh)
    return attention


def _same_everywhere(mesh: DeviceMesh, q: Tensor, k: Tensor) -> None:
    """Raise ``ValueError`` for blocks of different lengths, whose tokens would be mixed up."""
    here = torch.tensor([q.shape[-2], k.shape[-2]], device=mesh.device_type)
    there = [torch.empty_like(here) for _ in range(mesh.size())]
    dist.all_gather(there, here, group=mesh.get_group())
    queries, keys = torch.stack(there, dim=1).tolist()
    if len({*queries}) > 1 or len({*keys}) > 1:
        raise ValueError(
            f"ranks hold {queries} queries and {keys} keys; give every rank a block of the "
            f"same length, filled up and masked where the text is shorter."
        )
