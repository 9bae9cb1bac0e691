"""Steps of matrix factorisation with numba: stochastic gradients, ridge, conjugate gradients.

Sums of products may be taken in any order of lanes (`reassoc`), which is the same in each run.
"""

import numpy as np

from veil.data.compiled import compiled

LANES = {"reassoc", "contract", "nsz"}


@compiled(fastmath=LANES)
def descend(user, item, value, starts, blocks, p, q, of_user, of_item, mean, rate, reg):
    """Take one step for each rating of some blocks, in order: factors (float32) and biases."""
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
def conjugate(starts, other, fixed, gram, alpha, steps, first, last, x):
    """Take conjugate-gradient steps on (Q'Q + reg I + alpha Q_u'Q_u) p = (1 + alpha) Q_u'1.

    `gram` is Q'Q + reg I, `x` the last values, which are replaced (all float32).
    """
    width = fixed.shape[1]
    residual = np.empty(width, np.float32)
    direction = np.empty(width, np.float32)
    image = np.empty(width, np.float32)
    most = 1
    for u in range(first, last):
        most = max(most, starts[u + 1] - starts[u])
    near = np.empty((most, width), np.float32)
    for u in range(first, last):
        count = starts[u + 1] - starts[u]
        p = x[u]
        if count == 0:
            p[:] = np.float32(0.0)
            continue
        for f in range(width):
            residual[f] = np.float32(0.0)
        for c in range(width):
            weight, line = -p[c], gram[c]
            for f in range(width):
                residual[f] += weight * line[f]
        for at in range(count):
            q, own = fixed[other[starts[u] + at]], near[at]
            product = np.float32(0.0)
            for f in range(width):
                own[f] = q[f]
                product += q[f] * p[f]
            weight = np.float32(1.0) + alpha - alpha * product
            for f in range(width):
                residual[f] += weight * own[f]
        old = np.float32(0.0)
        for f in range(width):
            direction[f] = residual[f]
            old += residual[f] * residual[f]
        for _ in range(steps):
            if old < np.float32(1e-20):
                break
            for f in range(width):
                image[f] = np.float32(0.0)
            for c in range(width):
                weight, line = direction[c], gram[c]
                for f in range(width):
                    image[f] += weight * line[f]
            for at in range(count):
                own = near[at]
                product = np.float32(0.0)
                for f in range(width):
                    product += own[f] * direction[f]
                weight = alpha * product
                for f in range(width):
                    image[f] += weight * own[f]
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
