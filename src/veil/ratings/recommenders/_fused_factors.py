"""Steps of matrix factorisation with numba: stochastic gradients, ridge, conjugate gradients.

Sums of products may be taken in any order of lanes (`reassoc`), which is the same in each run.
"""

import numpy as np

from veil.data.compiled import compiled

LANES = {"reassoc", "contract", "nsz"}


@compiled(fastmath=LANES)
def descend(user, item, value, starts, blocks, p, q, of_user, of_item, mean, rate, reg):
    """Take one gradient step for each rating of some blocks: factors (float32) and biases."""
    width = p.shape[1]
    keep = np.float32(1.0) - rate * reg
    for block in blocks:
        for at in range(np.uintp(starts[block]), np.uintp(starts[block + 1])):
            u, i = np.uintp(user[at]), np.uintp(item[at])
            a, b = p[u], q[i]
            product = np.float32(0.0)
            for f in range(width):
                product += a[f] * b[f]
            error = value[at] - mean - of_user[u] - of_item[i] - product
            of_user[u] += rate * (error - reg * of_user[u])
            of_item[i] += rate * (error - reg * of_item[i])
            step = rate * error
            for f in range(width):
                x, y = a[f], b[f]
                a[f] = keep * x + step * y
                b[f] = keep * y + step * x


@compiled(fastmath=LANES)
def ridge(starts, other, value, fixed, reg, first, last, solved):
    """Solve (Q'Q + reg |I_u| I) p = Q'r for the rows first..last-1, by Cholesky in float64."""
    width = fixed.shape[1]
    gram = np.empty((width, width))
    right = np.empty(width)
    for u in range(first, last):
        gram[:] = 0.0
        right[:] = 0.0
        for at in range(starts[u], starts[u + 1]):
            q = fixed[other[at]]
            r = value[at]
            for a in range(width):
                x = q[a]
                right[a] += r * x
                line = gram[a]
                for b in range(a + 1):
                    line[b] += x * q[b]
        count = starts[u + 1] - starts[u]
        if count == 0:
            solved[u] = 0.0
            continue
        for a in range(width):
            gram[a, a] += reg * count
        _cholesky(gram, right)
        for a in range(width):
            solved[u, a] = right[a]


@compiled(fastmath=LANES)
def _cholesky(gram, right):
    """Solve in place; the lower triangle of `gram` becomes its factor."""
    width = len(right)
    for a in range(width):
        for b in range(a + 1):
            total = gram[a, b]
            for c in range(b):
                total -= gram[a, c] * gram[b, c]
            gram[a, b] = np.sqrt(total) if a == b else total / gram[b, b]
    for a in range(width):
        total = right[a]
        for c in range(a):
            total -= gram[a, c] * right[c]
        right[a] = total / gram[a, a]
    for a in range(width - 1, -1, -1):
        total = right[a] / gram[a, a]
        right[a] = total
        for c in range(a):
            right[c] -= gram[a, c] * total


@compiled(fastmath=LANES)
def _products(rows, count, vector, products):
    """Set products[r] to the product of row r and a vector, four rows at a time."""
    width, four = len(vector), count - count % 4
    for r in range(0, four, 4):
        q0, q1, q2, q3 = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
        s0 = s1 = s2 = s3 = np.float32(0.0)
        for f in range(width):
            x = vector[f]
            s0 += q0[f] * x
            s1 += q1[f] * x
            s2 += q2[f] * x
            s3 += q3[f] * x
        products[r], products[r + 1], products[r + 2], products[r + 3] = s0, s1, s2, s3
    for r in range(four, count):
        own, product = rows[r], np.float32(0.0)
        for f in range(width):
            product += own[f] * vector[f]
        products[r] = product


@compiled(fastmath=LANES)
def _add_rows(rows, count, weights, total):
    """Add the rows times their weights to a vector, eight rows at a time."""
    width, eight = len(total), count - count % 8
    for r in range(0, eight, 8):
        q0, q1, q2, q3 = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
        q4, q5, q6, q7 = rows[r + 4], rows[r + 5], rows[r + 6], rows[r + 7]
        w0, w1, w2, w3 = weights[r], weights[r + 1], weights[r + 2], weights[r + 3]
        w4, w5, w6, w7 = weights[r + 4], weights[r + 5], weights[r + 6], weights[r + 7]
        for f in range(width):
            half = w0 * q0[f] + w1 * q1[f] + w2 * q2[f] + w3 * q3[f]
            total[f] += half + w4 * q4[f] + w5 * q5[f] + w6 * q6[f] + w7 * q7[f]
    for r in range(eight, count):
        own, weight = rows[r], weights[r]
        for f in range(width):
            total[f] += weight * own[f]


@compiled(fastmath=LANES)
def conjugate(starts, other, fixed, gram, alpha, steps, first, last, x):
    """Take conjugate-gradient steps on (Q'Q + reg I + alpha Q_u'Q_u) p = (1 + alpha) Q_u'1.

    `gram` is Q'Q + reg I; `x` has the last values and is updated in place (all float32).
    """
    width = fixed.shape[1]
    residual = np.empty(width, np.float32)
    direction = np.empty(width, np.float32)
    image = np.empty(width, np.float32)
    most = 1
    for u in range(first, last):
        most = max(most, starts[u + 1] - starts[u])
    near = np.empty((most, width), np.float32)
    products = np.empty(most, np.float32)
    for u in range(first, last):
        count = starts[u + 1] - starts[u]
        p = x[u]
        if count == 0:
            p[:] = np.float32(0.0)
            continue
        for at in range(count):
            q, own = fixed[other[starts[u] + at]], near[at]
            for f in range(width):
                own[f] = q[f]
        for f in range(width):
            direction[f] = -p[f]
            residual[f] = np.float32(0.0)
        _add_rows(gram, width, direction, residual)
        _products(near, count, p, products)
        for at in range(count):
            products[at] = np.float32(1.0) + alpha - alpha * products[at]
        _add_rows(near, count, products, residual)
        old = np.float32(0.0)
        for f in range(width):
            direction[f] = residual[f]
            old += residual[f] * residual[f]
        for _ in range(steps):
            if old < np.float32(1e-20):
                break
            for f in range(width):
                image[f] = np.float32(0.0)
            _add_rows(gram, width, direction, image)
            _products(near, count, direction, products)
            for at in range(count):
                products[at] *= alpha
            _add_rows(near, count, products, image)
            curve = np.float32(0.0)
            for f in range(width):
                curve += direction[f] * image[f]
            length = old / curve
            new = np.float32(0.0)
            for f in range(width):
                p[f] += length * direction[f]
                residual[f] -= length * image[f]
                new += residual[f] * residual[f]
            ratio = new / old
            for f in range(width):
                direction[f] = residual[f] + ratio * direction[f]
            old = new
