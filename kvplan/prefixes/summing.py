"""From a replay to its answer: rates by the size of the pool, sessions that stay warm, what mending would give."""

from kvplan.core.ledger import Interval
from kvplan.prefixes.answer import Breaks, Point, Told, Warmth
from kvplan.prefixes.breaking import causes
from kvplan.prefixes.fixing import fix, mended
from kvplan.prefixes.replaying import Replay, through
from kvplan.prefixes.serving import Serving
from kvplan.replay import Blocks

_KEPT = 0.95
_SHARES = (0.5, 0.75, 0.9, 0.95, 0.99, 1.0)  # of the most hits, at which the curve has points


def rate(replay: Replay, pool_blocks: int | None) -> float:
    """The hit rate of a pool of this size, None without end."""
    assert isinstance(replay.cache, Blocks)
    curve = replay.cache.curve
    hits = curve.most if pool_blocks is None else curve.hits(pool_blocks)
    return hits * replay.cache.shape.block_tokens / replay.prompt_tokens if replay.prompt_tokens else 0.0


def thrash_blocks(cache: Blocks) -> int:
    """The smallest pool that holds each request, and finds all that one without end does but a twentieth."""
    return max(cache.largest_blocks, cache.curve.least_pool(-int(-_KEPT * cache.curve.most // 1)))


def curve(replay: Replay, pool: Interval | None) -> tuple[Point, ...]:
    """Pools of a few sizes and what they find: where hits begin to fail, and the one at hand."""
    cache = replay.cache
    assert isinstance(cache, Blocks)
    sizes = {max(cache.largest_blocks, cache.curve.least_pool(-int(-share * cache.curve.most // 1))) for share in _SHARES}
    sizes |= set() if pool is None or pool.best < cache.largest_blocks else {pool.best}
    points = [Point(n * cache.shape.block_tokens, rate(replay, n)) for n in sorted(sizes)]
    return (*points, Point(None, rate(replay, None)))


def warmth(replay: Replay, serving: Serving) -> Warmth | None:
    """How many sessions the pool holds, each beside what all of them share."""
    cache = replay.cache
    if not isinstance(cache, Blocks) or not replay.n_requests:
        return None
    block = cache.shape.block_tokens
    n_all, n_shared, n_sessions = cache.distinct()
    own = -(-(n_all - n_shared) // n_sessions) if n_sessions else 0
    pool = serving.shape.n_blocks
    warm = None if pool is None or not own else max(0, (pool - n_shared) // own)
    return Warmth(n_sessions, replay.n_named > 0, n_all * block, n_shared * block, own * block, warm)


def breaks(replay: Replay, serving: Serving) -> Breaks | None:
    """What breaks prefixes, and what the same requests find once that is mended; None where no text was there to read."""
    sample = replay.sample
    if serving.n_slots is not None:  # slots compare with their own last prompt; what breaks prefixes is told of all
        sample = through((seen.request for seen in sample), replay.tokens, serving.shape).sample
    if not sample:
        return None
    found = causes(sample)
    missed = sum(seen.n_prompt - seen.hit_tokens for seen in sample)
    before = sum(seen.hit_tokens for seen in sample) / max(1, sum(seen.n_prompt for seen in sample))
    fixes = {cause.kind: one for cause in found if (one := fix(cause)) is not None}

    def mend(*kinds: str) -> float | None:
        chosen = [one for kind, one in fixes.items() if kind in kinds]
        if not chosen:
            return None
        return through((mended(seen.request, chosen) for seen in sample), replay.tokens, serving.shape).hit_rate

    told = tuple(Told(cause, cause.lost_tokens / max(1, missed), mend(cause.kind)) for cause in found)
    return Breaks(len(sample), replay.is_whole, before, told, mend(*fixes) if len(fixes) > 1 else None)
