"""Block maxima of 8-bit products, in SIMD registers.

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
