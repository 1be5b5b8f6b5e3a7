"""Sampler that keeps background from drowning objects in a minibatch of anchors."""

import tensorflow as tf


class BalancedPositiveNegativeSampler:
    """Samples at most a given share of positives and fills the rest with negatives.

    One implementation serves dynamic and static shapes: the output is a mask, and nothing in
    between has a size that depends on values.
    """

    def __init__(self, positive_fraction: float = 0.5, is_static: bool = False,
                 original_static_fault: bool = False) -> None:
        """Makes a sampler.

        Args:
            positive_fraction: largest share of positives, in [0, 1].
            is_static: insist on a minibatch size and on shapes known when the graph is traced.
            original_static_fault: where fewer candidates exist than the minibatch has places, fill
                it with elements that are no candidates, from the first on, as the static sampler of
                the original does. Ignored anchors then count as background. Without is_static it
                has no effect, as the original's dynamic sampler has no such fault.
        Raises:
            ValueError: if the fraction is not in [0, 1].
        """
        if not 0.0 <= positive_fraction <= 1.0:
            raise ValueError("BalancedPositiveNegativeSampler: positive_fraction: want a number "
                             f"in [0, 1], got {positive_fraction}")
        self.positive_fraction = positive_fraction
        self.is_static = is_static
        self.original_static_fault = original_static_fault

    def subsample(self, indicator: tf.Tensor, batch_size: int | None,
                  labels: tf.Tensor) -> tf.Tensor:
        """Returns bool [..., A], true where an element is sampled; at random, a batch entry each.

        Args:
            indicator: bool [..., A], the candidates.
            batch_size: most elements sampled per batch entry. Fewer come out where negatives are
                short: positives above their share do not take the places. None: all positives,
                and as many negatives as the share asks for.
            labels: bool [..., A], true for positives.
        Raises:
            ValueError: if batch_size is None and positive_fraction 0, or something is unknown
                that a static sampler must know.
        """
        if self.is_static and (batch_size is None or not indicator.shape.is_fully_defined()):
            raise ValueError("BalancedPositiveNegativeSampler.subsample: a static sampler needs a "
                             f"batch_size and a static shape, got {batch_size} and "
                             f"{indicator.shape}")
        if self.original_static_fault and self.is_static:
            indicator |= _first_outsiders(indicator, batch_size)
        most_positives = None if batch_size is None else int(self.positive_fraction * batch_size)
        positives = subsample_indicator(indicator & labels, most_positives)
        sampled = tf.reduce_sum(tf.cast(positives, tf.int32), axis=-1)
        negatives = subsample_indicator(indicator & ~labels, batch_size,
                                        self._negatives_wanted(sampled, batch_size))
        return positives | negatives

    def _negatives_wanted(self, positives: tf.Tensor, batch_size: int | None) -> tf.Tensor:
        """Returns int32 [...] for int32 [...] sampled positives."""
        if batch_size is not None:
            return batch_size - positives
        if self.positive_fraction <= 0.0:
            raise ValueError("BalancedPositiveNegativeSampler.subsample: without a batch_size the "
                             "positives set the number of negatives, so positive_fraction must "
                             "be above 0")
        per_positive = (1.0 - self.positive_fraction) / self.positive_fraction
        return tf.cast(per_positive * tf.cast(positives, tf.float32), tf.int32)


def subsample_indicator(indicator: tf.Tensor, most: int | None,
                        wanted: tf.Tensor | None = None) -> tf.Tensor:
    """Keeps a random part of the true elements.

    Args:
        indicator: bool [..., A].
        most: most elements kept per batch entry; None: no bound.
        wanted: int32 [...], elements kept per batch entry, at most `most`; None: `most`.
    Returns:
        bool [..., A]; all true elements where there are fewer than wanted.
    """
    size = indicator.shape[-1]
    if size is None:
        size = tf.shape(indicator)[-1]
        most = size if most is None else tf.minimum(most, size)
    else:
        most = size if most is None else min(most, size)
    count = tf.reduce_sum(tf.cast(indicator, tf.int32), axis=-1)
    count = tf.minimum(count, most if wanted is None else tf.minimum(wanted, most))
    # Elements compete by a random number. The last winner divides them; a tie with it goes to
    # the lower index, as in top_k.
    draw = tf.where(indicator, tf.random.uniform(tf.shape(indicator)), -1.0)
    best = tf.math.top_k(draw, k=most)
    is_last = tf.equal(tf.range(most), count[..., None] - 1)
    last_draw = tf.reduce_max(tf.where(is_last, best.values, -1.0), axis=-1, keepdims=True)
    last_index = tf.reduce_max(tf.where(is_last, best.indices, -1), axis=-1, keepdims=True)
    wins = (draw > last_draw) | (tf.equal(draw, last_draw) & (tf.range(size) <= last_index))
    return indicator & wins & (count > 0)[..., None]


def _first_outsiders(indicator: tf.Tensor, batch_size: int) -> tf.Tensor:
    """Returns bool [..., A]: the first elements outside that bring the candidates to batch_size."""
    outside = tf.cast(~indicator, tf.int32)
    inside = tf.reduce_sum(1 - outside, axis=-1, keepdims=True)
    return ~indicator & (tf.cumsum(outside, axis=-1) <= batch_size - inside)
