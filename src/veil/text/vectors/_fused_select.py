"""Find the blocks, and in them the words, that can be among the nearest."""

import numpy as np

from veil.data.compiled import compiled
from veil.text.vectors._fused_tile import LANES


@compiled()
def _grown(a):
    b = np.empty(2 * a.shape[0], a.dtype)
    b[: a.shape[0]] = a
    return b


@compiled()
def select(
    maxima, m, k, gain, extra, scale, resid, qnorm, hmin, hmax, q_scale, q_resid, q_norm, noise
):
    """Return the (query, block) pairs that can hold one of the k best scores x.y - |y|^2/2.

    One pass over the maxima with a running threshold: the k-th largest lower bound
    so far.  Most (panel, query) pairs are dismissed by one comparison of 16 integers,
    with the bounds taken over the whole panel.
    Returns starts (m + 1), and blocks and their upper bounds, grouped by query.
    """
    n_panels = maxima.shape[0]
    cap = 1024 + 64 * m
    q_out, b_out, u_out = (
        np.empty(cap, np.int32),
        np.empty(cap, np.int32),
        np.empty(cap, np.float64),
    )
    n = 0
    top = np.full((m, k), -np.inf)
    for phase in range(8):  # spread over the norms, so that the threshold rises early
        for p in range(phase, n_panels, 8):
            o = p * LANES
            s_lo, s_hi, r_hi, y_hi, h_lo = np.inf, 0.0, 0.0, 0.0, np.inf
            for b in range(o, o + LANES):
                if hmin[b] < np.inf:
                    s_lo, s_hi = min(s_lo, scale[b]), max(s_hi, scale[b])
                    r_hi, y_hi, h_lo = max(r_hi, resid[b]), max(y_hi, qnorm[b]), min(h_lo, hmin[b])
            for i in range(m):
                qs, qr, qx = q_scale[i] * gain, q_resid[i], q_norm[i]
                slack = noise * qx * qx
                thr = top[i, k - 1]
                # upper bound >= thr needs a maximum of at least `need`
                w = thr - slack - (qx * r_hi + qr * y_hi) + h_lo
                need = w / (qs * (s_hi if w > 0.0 else s_lo)) - extra - 2.0
                limit = np.int16(min(max(need, -32768.0), 32767.0))
                row = maxima[p, i]
                hits = 0
                for lane in range(LANES):
                    hits += row[lane] >= limit
                if hits == 0:
                    continue
                if n + LANES > q_out.shape[0]:
                    q_out, b_out, u_out = _grown(q_out), _grown(b_out), _grown(u_out)
                for lane in range(LANES):
                    b = o + lane
                    if row[lane] < limit or hmin[b] == np.inf:
                        continue
                    t = qs * scale[b]
                    tol = qx * resid[b] + qr * qnorm[b] + slack
                    upper = t * (row[lane] + extra) + tol - hmin[b]
                    if upper >= top[i, k - 1]:
                        q_out[n], b_out[n], u_out[n] = i, b, upper
                        n += 1
                        lower = t * row[lane] - tol - hmax[b]
                        j = k
                        while j > 0 and lower > top[i, j - 1]:
                            j -= 1
                        if j < k:
                            for e in range(k - 1, j, -1):
                                top[i, e] = top[i, e - 1]
                            top[i, j] = lower
    starts = np.zeros(m + 1, np.int64)
    for e in range(n):
        if u_out[e] >= top[q_out[e], k - 1]:
            starts[q_out[e] + 1] += 1
    for i in range(m):
        starts[i + 1] += starts[i]
    at = starts[:m].copy()
    blocks, uppers = np.empty(starts[m], np.int32), np.empty(starts[m], np.float64)
    for e in range(n):
        i = q_out[e]
        if u_out[e] >= top[i, k - 1]:
            blocks[at[i]], uppers[at[i]] = b_out[e], u_out[e]
            at[i] += 1
    return starts, blocks, uppers


# "reassoc"/"contract" only change the rounding of a sum of squares, whose relative
# error is at most (dim + 3) * 2**-53 in any order.
@compiled(fastmath={"reassoc", "contract"})
def _squared_distance(x, y):
    s = 0.0
    for j in range(x.shape[0]):
        e = x[j] - np.float64(y[j])
        s += e * e
    return s


@compiled()
def refine(queries, vectors, order, size, k, starts, blocks, upper, noise, most):
    """Return the (query, row) pairs that can be among the k nearest, up to rounding.

    Gives up, with a third value of False, when there are more than `most`.
    """
    m, dim = queries.shape
    n_rows = vectors.shape[0]
    cap = 64 + 2 * k * m
    q_out, r_out = np.empty(cap, np.int64), np.empty(cap, np.int64)
    n = 0
    d_tmp, r_tmp = np.empty(4096), np.empty(4096, np.int64)
    top = np.empty(k)
    for i in range(m):
        x = queries[i]
        x2 = 0.0
        for j in range(dim):
            x2 += x[j] * x[j]
        a, z = starts[i], starts[i + 1]
        for e in range(a + 1, z):  # the most promising blocks first
            u, b = upper[e], blocks[e]
            at = e
            while at > a and upper[at - 1] < u:
                upper[at], blocks[at] = upper[at - 1], blocks[at - 1]
                at -= 1
            upper[at], blocks[at] = u, b
        top[:] = np.inf
        seen = 0
        for e in range(a, z):
            # x.y - |y|^2/2 = (|x|^2 - |x-y|^2) / 2
            if 2.0 * upper[e] < x2 - top[k - 1] - noise * (x2 + top[k - 1]):
                break  # nor can any of the rest
            lo = blocks[e] * size
            hi = min(lo + size, n_rows)
            if seen + size > d_tmp.shape[0]:
                d_tmp, r_tmp = _grown(d_tmp), _grown(r_tmp)
            for s in range(lo, hi):
                r = order[s]
                d2 = _squared_distance(x, vectors[r])
                d_tmp[seen], r_tmp[seen] = d2, r
                seen += 1
                j = k
                while j > 0 and d2 < top[j - 1]:
                    j -= 1
                if j < k:
                    for e2 in range(k - 1, j, -1):
                        top[e2] = top[e2 - 1]
                    top[j] = d2
        limit = top[k - 1] * (1.0 + noise)
        if n + seen > most and m > 1:
            return q_out[:0], r_out[:0], False
        for e in range(seen):
            if d_tmp[e] <= limit:
                if n == q_out.shape[0]:
                    q_out, r_out = _grown(q_out), _grown(r_out)
                q_out[n], r_out[n] = i, r_tmp[e]
                n += 1
    return q_out[:n], r_out[:n], True
