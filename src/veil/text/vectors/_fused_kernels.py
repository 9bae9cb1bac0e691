"""First pass of the nearest-word search in compiled code: quantise, multiply, select.

Block maxima of 8-bit products, in SIMD registers.

Layout. The vocabulary, in order of length, is cut into *blocks* of consecutive rows; 16
consecutive blocks make a *panel*. One SIMD lane of 16 bits belongs to one block, so that the
lane-wise maximum over the steps of a panel gives the 16 block maxima without any horizontal
operation::

    packed[panel, t, pair, lane, 2]  uint8 = 128 + quantised y[row, 2 pair + (0, 1)]
    row (in order of length)         = (panel * 16 + lane) * size + t

Arithmetic. Products are 8 bit x 8 bit, two of them are added to 16 bits (``vpmaddubsw`` on AVX2:
32 products per instruction, four times the rate of float32), and the sum over the dimensions is
kept in 16 bits, modulo 2**16. That is exact because the quantised lengths obey |x||y| <= 181 * 181
< 2**15 for each chunk of the dimensions (Cauchy-Schwarz), and because a pair never saturates:
255 (|x0| + |x1|) <= 255 * 128 < 2**15. The offset of 128 that makes y unsigned is undone by
starting the sum at -128 sum(x). The block maximum is therefore the exact integer maximum on every
processor; only the speed depends on the processor.

With more than one chunk (high dimension) the chunk sums are shifted right before they are added,
which loses less than 1 per chunk. Nothing of size (rows x points) is written.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from veil.data.compiled import compiled

LANES = 16  # 16-bit lanes of one SIMD register
NORM = 181  # bound of the length of a quantised chunk: 181 * 181 < 2**15
ROWS_TILE = 2  # SIMD registers of vocabulary rows per register tile
QUERIES_TILE = 4  # points per register tile


def _has_avx2(context: Any) -> bool:
    """Tell whether the processor numba compiles for (not just this host) has AVX2."""
    triple, _, features = context.codegen().magic_tuple()
    return triple.startswith(("x86_64", "i686", "i386")) and "+avx2" in features.split(",")


@intrinsic
def _tile(typingctx, y, y_step, q, n_tiles, chunk_pairs, n_chunks, shift, out, first):
    """Raise out[tile, query, lane] to the products of ROWS_TILE row registers, if larger.

    y: pointer-carrying uint8 array view (start of the step), y_step: bytes per step;
    q: int32 array view: per tile, per chunk, (1 + chunk_pairs) x QUERIES_TILE words,
    the first being the start value, each 16-bit half of a word being equal;
    out: int16 array view; first: overwrite `out` rather than taking the maximum.
    """
    sig = types.void(
        y, types.intp, q, types.intp, types.intp, types.intp, types.intp, out, types.boolean
    )

    def codegen(context, builder, signature, args):
        y_s, y_step_v, q_s, n_tiles_v, pairs_v, chunks_v, shift_v, out_s, first_v = args
        i8, i16, i32, i64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
        bytes_t, words_t = ir.VectorType(i8, 2 * LANES), ir.VectorType(i16, LANES)
        dwords_t = ir.VectorType(i32, LANES // 2)
        rows, queries = ROWS_TILE, QUERIES_TILE

        def data(index, value):
            st = context.make_array(signature.args[index])(context, builder, value)
            return builder.bitcast(st.data, i8.as_pointer())

        y_p, q_p, out_p = data(0, y_s), data(2, q_s), data(7, out_s)

        def const(v):
            return ir.Constant(i64, v)

        def load(base, offset, ty, align):
            p = builder.bitcast(builder.gep(base, [offset]), ty.as_pointer())
            ins = builder.load(p)
            ins.align = align
            return ins

        def store(value, base, offset, align):
            p = builder.bitcast(builder.gep(base, [offset]), value.type.as_pointer())
            builder.store(value, p).align = align

        def splat(scalar, ty):
            v = builder.insert_element(ir.Constant(ty, ir.Undefined), scalar, ir.Constant(i32, 0))
            mask = ir.Constant(ir.VectorType(i32, ty.count), [0] * ty.count)
            return builder.shuffle_vector(v, ir.Constant(ty, ir.Undefined), mask)

        def broadcast(offset):  # one query word -> bytes of all lanes
            return splat(load(q_p, offset, i32, 4), dwords_t)

        c8 = ir.Constant(words_t, [8] * LANES)
        cff = ir.Constant(words_t, [255] * LANES)

        if _has_avx2(context):
            fn = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(words_t, [bytes_t, bytes_t]),
                "llvm.x86.avx2.pmadd.ub.sw",
            )

            def split_y(v):
                return v

            def split_q(v):
                return builder.bitcast(v, bytes_t)

            def madd(acc, yv, qv):
                return builder.add(acc, builder.call(fn, [yv, qv]))

        else:  # the same integers from plain 16-bit multiplications

            def split_y(v):
                w = builder.bitcast(v, words_t)
                return builder.and_(w, cff), builder.lshr(w, c8)

            def split_q(v):
                w = builder.bitcast(v, words_t)
                return builder.ashr(builder.shl(w, c8), c8), builder.ashr(w, c8)

            def madd(acc, yv, qv):
                acc = builder.add(acc, builder.mul(yv[0], qv[0]))
                return builder.add(acc, builder.mul(yv[1], qv[1]))

        shift_w = splat(builder.trunc(shift_v, i16), words_t)
        acc = [
            [cgutils.alloca_once(builder, words_t) for _ in range(queries)] for _ in range(rows)
        ]
        total = [
            [cgutils.alloca_once(builder, words_t) for _ in range(queries)] for _ in range(rows)
        ]
        chunk_bytes = builder.mul(builder.add(pairs_v, const(1)), const(4 * queries))
        tile_bytes = builder.mul(chunk_bytes, chunks_v)
        y_chunk_bytes = builder.mul(pairs_v, const(2 * LANES))

        with cgutils.for_range(builder, n_tiles_v, intp=i64) as tile:
            q_tile = builder.mul(tile.index, tile_bytes)
            for r in range(rows):
                for n in range(queries):
                    builder.store(ir.Constant(words_t, [0] * LANES), total[r][n])
            with cgutils.for_range(builder, chunks_v, intp=i64) as chunk:
                q_chunk = builder.add(q_tile, builder.mul(chunk.index, chunk_bytes))
                y_chunk = builder.mul(chunk.index, y_chunk_bytes)
                for n in range(queries):
                    start = builder.bitcast(broadcast(builder.add(q_chunk, const(4 * n))), words_t)
                    for r in range(rows):
                        builder.store(start, acc[r][n])
                with cgutils.for_range(builder, pairs_v, intp=i64) as pair:
                    y_off = builder.add(y_chunk, builder.mul(pair.index, const(2 * LANES)))
                    q_off = builder.add(
                        q_chunk, builder.mul(builder.add(pair.index, const(1)), const(4 * queries))
                    )
                    ys = []
                    for r in range(rows):
                        o = builder.add(y_off, builder.mul(y_step_v, const(r)))
                        ys.append(split_y(load(y_p, o, bytes_t, 1)))
                    for n in range(queries):
                        qv = split_q(broadcast(builder.add(q_off, const(4 * n))))
                        for r in range(rows):
                            builder.store(madd(builder.load(acc[r][n]), ys[r], qv), acc[r][n])
                for r in range(rows):
                    for n in range(queries):
                        part = builder.ashr(builder.load(acc[r][n]), shift_w)
                        builder.store(builder.add(builder.load(total[r][n]), part), total[r][n])
            for n in range(queries):
                best = builder.load(total[0][n])
                for r in range(1, rows):
                    v = builder.load(total[r][n])
                    best = builder.select(builder.icmp_signed(">", v, best), v, best)
                off = builder.mul(
                    builder.add(builder.mul(tile.index, const(queries)), const(n)),
                    const(2 * LANES),
                )
                old = load(out_p, off, words_t, 2)
                keep = builder.select(builder.icmp_signed(">", old, best), old, best)
                store(builder.select(first_v, best, keep), out_p, off, 2)
        return context.get_dummy_value()

    return sig, codegen


@compiled()
def block_maxima(packed, words, chunk_pairs, n_chunks, shift, size, n_panels, out):
    """Set out[panel, query, lane] to the maximum of the integer products over a block."""
    step = n_chunks * chunk_pairs * 2 * LANES
    n_tiles = out.shape[1] // QUERIES_TILE
    for p in range(n_panels):
        o = out[p].reshape(-1)
        for t in range(0, size, ROWS_TILE):
            base = (p * size + t) * step
            _tile(packed[base:], step, words, n_tiles, chunk_pairs, n_chunks, shift, o, t == 0)


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
        count = 0
        for e in range(a, z):
            # x.y - |y|^2/2 = (|x|^2 - |x-y|^2) / 2
            if 2.0 * upper[e] < x2 - top[k - 1] - noise * (x2 + top[k - 1]):
                break  # nor can any of the rest
            lo = blocks[e] * size
            hi = min(lo + size, n_rows)
            if count + size > d_tmp.shape[0]:
                d_tmp, r_tmp = _grown(d_tmp), _grown(r_tmp)
            for s in range(lo, hi):
                r = order[s]
                d2 = _squared_distance(x, vectors[r])
                d_tmp[count], r_tmp[count] = d2, r
                count += 1
                j = k
                while j > 0 and d2 < top[j - 1]:
                    j -= 1
                if j < k:
                    for e2 in range(k - 1, j, -1):
                        top[e2] = top[e2 - 1]
                    top[j] = d2
        limit = top[k - 1] * (1.0 + noise)
        if n + count > most and m > 1:
            return q_out[:0], r_out[:0], False
        for e in range(count):
            if d_tmp[e] <= limit:
                if n == q_out.shape[0]:
                    q_out, r_out = _grown(q_out), _grown(r_out)
                q_out[n], r_out[n] = i, r_tmp[e]
                n += 1
    return q_out[:n], r_out[:n], True
