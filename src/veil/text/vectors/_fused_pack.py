"""Quantise vectors to 8 bits, with proven bounds on what that loses."""

import numpy as np

from veil.data.compiled import compiled
from veil.text.vectors._fused_tile import LANES, NORM, QUERIES_TILE


@compiled()
def pack_blocks(
    vectors,
    order,
    size,
    n_chunks,
    chunk_pairs,
    first,
    last,
    packed,
    scale,
    resid,
    qnorm,
    hmin,
    hmax,
):
    """Quantise the blocks first..last-1 and fill their bounds (all float64).

    scale: y ~ scale * yq;  resid >= max |y - scale yq|;  qnorm >= max |scale yq|;
    hmin / hmax: bounds of |y|^2 / 2 in the block (inf for an empty block).
    A partly filled block repeats its first row.
    """
    n_rows, dim = vectors.shape
    width = 2 * chunk_pairs
    flat = n_chunks * width
    yq = np.zeros((size, flat), np.int64)
    guess = np.sqrt(NORM * NORM - width / 12.0)
    for b in range(first, last):
        count = min(size, n_rows - b * size)
        if count <= 0:
            hmin[b], hmax[b], scale[b], resid[b], qnorm[b] = np.inf, np.inf, 0.0, 0.0, 0.0
            continue
        top = 0.0
        peak = 0.0
        lo, hi = np.inf, 0.0
        for t in range(count):
            row = order[b * size + t]
            norm2 = 0.0
            for c in range(n_chunks):
                part = 0.0
                for j in range(c * width, min(dim, (c + 1) * width)):
                    v = np.float64(vectors[row, j])
                    part += v * v
                    peak = max(peak, abs(v))
                top = max(top, part)
                norm2 += part
            lo, hi = min(lo, 0.5 * norm2), max(hi, 0.5 * norm2)
        s = max(np.sqrt(top) / guess, peak / 127.0)
        if s == 0.0:
            s = 1.0
        fits = False
        while not fits:
            fits = True
            inv = 1.0 / s
            for t in range(count):
                row = order[b * size + t]
                for c in range(n_chunks):
                    n2 = 0
                    for j in range(c * width, min(dim, (c + 1) * width)):
                        v = int(np.floor(np.float64(vectors[row, j]) * inv + 0.5))
                        yq[t, j] = v
                        n2 += v * v
                        if v > 127 or v < -127:
                            fits = False
                    if n2 > NORM * NORM:
                        fits = False
            if not fits:
                s *= 1.002
        worst, big = 0.0, 0.0
        for t in range(count):
            row = order[b * size + t]
            r2, n2f = 0.0, 0.0
            for j in range(dim):
                w = s * yq[t, j]
                e = np.float64(vectors[row, j]) - w
                r2 += e * e
                n2f += w * w
            worst, big = max(worst, r2), max(big, n2f)
        scale[b] = s
        resid[b] = np.sqrt(worst) * (1 + 1e-9)
        qnorm[b] = np.sqrt(big) * (1 + 1e-9)
        hmin[b], hmax[b] = lo, hi
        panel, lane = b // LANES, b % LANES
        for t in range(size):
            src = t if t < count else 0
            base = (panel * size + t) * (flat // 2)
            for j in range(flat):
                packed[((base + j // 2) * LANES + lane) * 2 + j % 2] = np.uint8(yq[src, j] + 128)


@compiled()
def quantise_queries(queries, n_chunks, chunk_pairs, words, scale, resid, norm):
    """Quantise float64 queries; fill `words` (see _tile) and the float64 bounds."""
    m, dim = queries.shape
    width = 2 * chunk_pairs
    guess = np.sqrt(NORM * NORM - width / 12.0)
    xq = np.zeros(n_chunks * width, np.int64)
    words[:] = 0
    for i in range(m):
        top, total, peak = 0.0, 0.0, 0.0
        for c in range(n_chunks):
            part = 0.0
            for j in range(c * width, min(dim, (c + 1) * width)):
                v = queries[i, j]
                part += v * v
                peak = max(peak, abs(v))
            top = max(top, part)
            total += part
        s = max(np.sqrt(top) / guess, peak / 127.0)
        if s == 0.0:
            s = 1.0
        fits = False
        while not fits:
            fits = True
            inv = 1.0 / s
            for j in range(dim):
                xq[j] = int(np.floor(queries[i, j] * inv + 0.5))
            for c in range(n_chunks):
                n2 = 0
                for p in range(c * chunk_pairs, (c + 1) * chunk_pairs):
                    a, b = xq[2 * p], xq[2 * p + 1]
                    n2 += a * a + b * b
                    # no saturation of a pair, and both fit in a signed byte
                    if abs(a) + abs(b) > 128 or max(abs(a), abs(b)) > 127:
                        fits = False
                if n2 > NORM * NORM:
                    fits = False
            if not fits:
                s *= 1.002
        r2 = 0.0
        for j in range(dim):
            e = queries[i, j] - s * xq[j]
            r2 += e * e
        scale[i] = s
        resid[i] = np.sqrt(r2) * (1 + 1e-9)
        norm[i] = np.sqrt(total) * (1 + 1e-9)
        base = (i // QUERIES_TILE) * n_chunks * (chunk_pairs + 1) * QUERIES_TILE + i % QUERIES_TILE
        for c in range(n_chunks):
            at = base + c * (chunk_pairs + 1) * QUERIES_TILE
            start = 0
            for p in range(chunk_pairs):
                a, b = xq[2 * (c * chunk_pairs + p)], xq[2 * (c * chunk_pairs + p) + 1]
                start -= 128 * (a + b)
                half = (a & 255) | ((b & 255) << 8)
                words[at + (p + 1) * QUERIES_TILE] = np.int32(half | (half << 16))
            half = start & 65535
            words[at] = np.int32(half | (half << 16))
