"""The account of what is in memory, against a naive one."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from yahtzee_cluster.engine.cache import PAGE_BYTES, Cache, size_of
from yahtzee_cluster.engine.partition import ClassId

classes = st.integers(0, 5).map(ClassId)
operation = st.tuples(st.sampled_from(["take", "take", "pin", "unpin", "unpin", "drop"]), classes, st.integers(0, 6))
operations = st.integers(0, 60).flatmap(lambda n: st.lists(operation, min_size=n, max_size=n))


class Model:
    """The same cache: classes in a list, the longest unused first, and every sum taken anew."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.sizes: list[tuple[ClassId, int]] = []
        self.holders: Counter[ClassId] = Counter()
        self.peak_bytes = 0

    @property
    def used_bytes(self) -> int:
        """What all classes take."""
        return sum(size for _, size in self.sizes)

    @property
    def held_bytes(self) -> int:
        """What the held ones take."""
        return sum(size for cls, size in self.sizes if self.holders[cls])

    def __contains__(self, cls: ClassId) -> bool:
        return any(cls == other for other, _ in self.sizes)

    def take(self, cls: ClassId, n_bytes: int) -> list[ClassId] | None:
        """Let the longest unused go, one by one, until there is room."""
        if self.held_bytes + n_bytes > self.limit_bytes:
            return None
        gone = []
        while self.used_bytes + n_bytes > self.limit_bytes:
            gone.append(next(other for other, _ in self.sizes if not self.holders[other]))
            self.drop(gone[-1])
        self.sizes.append((cls, n_bytes))
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)
        return gone

    def drop(self, cls: ClassId) -> bool:
        """Forget a class that nobody holds."""
        if cls not in self or self.holders[cls]:
            return False
        self.sizes = [(other, size) for other, size in self.sizes if other != cls]
        return True

    def pin(self, cls: ClassId) -> None:
        """Hold a class, which is thereby used."""
        self.holders[cls] += 1
        self.sizes.sort(key=lambda item: item[0] == cls)

    def unpin(self, cls: ClassId) -> None:
        """Undo one pin."""
        self.holders[cls] -= 1


@settings(max_examples=500)
@given(st.integers(0, 12), operations)
def test_cache_does_what_the_naive_one_does(limit_bytes: int, listed: list[tuple[str, ClassId, int]]) -> None:
    """Room is refused exactly if too much is held, the longest unused goes for it, and bound and sums are exact."""
    cache, model = Cache(limit_bytes), Model(limit_bytes)
    for verb, cls, n_bytes in listed:
        held = [other for other in map(ClassId, range(6)) if other in cache and model.holders[other]]
        match verb:
            case "take" if cls not in model:
                assert cache.take(cls, n_bytes) == model.take(cls, n_bytes)
            case "pin":
                cache.pin(cls)
                model.pin(cls)
            case "unpin" if model.holders[cls]:
                cache.unpin(cls)
                model.unpin(cls)
            case "drop":
                assert cache.drop(cls) == model.drop(cls)
        assert all((other in cache) == (other in model) for other in map(ClassId, range(6)))
        assert all(other in cache for other in held)
        assert (cache.used_bytes, cache.peak_bytes) == (model.used_bytes, model.peak_bytes)
        assert cache.used_bytes <= cache.peak_bytes <= limit_bytes


@given(st.lists(classes, unique=True), st.data())
def test_held_classes_stay(taken: list[ClassId], data: st.DataObject) -> None:
    """A class held before or after it came stays until it is let go as often as it was held; then it can go."""
    cache = Cache(6)
    n_holds = {cls: data.draw(st.integers(1, 3)) for cls in taken}
    for cls, n in n_holds.items():
        early = data.draw(st.integers(0, n))
        for number in range(n):
            if number == early:
                assert cache.take(cls, 1) == []
            cache.pin(cls)
        if early == n:
            assert cache.take(cls, 1) == []
    assert cache.take(ClassId(6), 7 - len(taken)) is None
    for cls, n in n_holds.items():
        for _ in range(n):
            assert not cache.drop(cls)
            cache.unpin(cls)
        assert cache.drop(cls)
        assert not cache.drop(cls)
    assert (cache.used_bytes, cache.peak_bytes) == (0, len(taken))


@given(st.integers(0, 10**12))
def test_size_is_whole_pages(n_values: int) -> None:
    """Values take the fewest whole pages that hold them, and at least one."""
    pages, rest = divmod(size_of(n_values), PAGE_BYTES)
    assert rest == 0
    assert pages == 1 or PAGE_BYTES * (pages - 1) < 8 * n_values
    assert PAGE_BYTES * pages >= max(1, 8 * n_values)
