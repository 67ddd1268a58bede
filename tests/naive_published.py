"""The papers' algorithms on dense vectors, from their pseudo-code, line by line."""

from __future__ import annotations

import numpy as np

from naive import NaiveChain, NaiveRandom
from naive_optima import solve_simplex_qp


class NaivePublished:
    """What they share: α per example and output, w = Σ α δ, the core's order of examples."""

    def __init__(self, chain: NaiveChain, C: float, seed: int) -> None:
        self.chain, self.C, self.seed = chain, C, seed
        self.w = np.zeros(chain.dimension)
        # V_i with α_i(y), which sum to C.
        self.V = [{y: C * chain.weight(i)} for i, y in enumerate(chain.truth)]
        self.passes = 0
        self.stopped = False
        self.closest = np.inf  # how near any choice was to a tie

    def order(self) -> list[int]:
        self.passes += 1
        order = list(range(len(self.chain.X)))
        seed = (self.seed * 0x9E3779B97F4A7C15 + self.passes) % 2**64
        NaiveRandom(seed).shuffle(order)
        return [i for i in order if self.chain.weight(i) > 0]

    def gain(self, i: int, y: tuple) -> float:
        return self.chain.loss(i, y) - float(self.w @ self.chain.delta(i, y))

    def argmax(self, i: int) -> tuple:
        return self.chain.scored(self.w, i, 1.0)[0][1]

    def near(self, value: float, threshold: float) -> None:
        self.closest = min(self.closest, abs(value - threshold))

    def chosen_of(self, i: int) -> None:
        """What the argmax found is used: how near the second best output was."""
        ranked = self.chain.scored(self.w, i, 1.0)
        if len(ranked) > 1:
            self.near(ranked[0][0], ranked[1][0])


class NaiveSDM(NaivePublished):
    """Algorithms 1 to 3 of Balamurugan et al. 2011 (α times C)."""

    def __init__(
        self, chain: NaiveChain, C: float, seed: int, tau: float, tau_inner: float, kappa1: int,
        kappa2: int,
    ) -> None:  # fmt: skip
        super().__init__(chain, C, seed)
        self.tau, self.tau_inner, self.kappa1, self.kappa2 = tau, tau_inner, kappa1, kappa2
        self.iteration = 0

    def algorithm_2(self, i: int) -> None:
        V = self.V[i]
        while True:
            F = {y: self.gain(i, y) for y in V}
            p = max(F, key=F.__getitem__)
            active = [y for y in V if V[y] > 0]
            q = min(active, key=F.__getitem__)
            self.near(F[p] - F[q], self.tau_inner)
            if F[p] - F[q] <= self.tau_inner:
                return
            for high in sorted(F.values())[-2:-1]:
                self.near(F[p], high)
            for low in sorted(F[y] for y in active)[1:2]:
                self.near(F[q], low)
            change = self.chain.delta(i, p) - self.chain.delta(i, q)
            bend = float(change @ change)
            d = V[q] if bend == 0 else min(V[q], (F[p] - F[q]) / bend)
            V[p] += d
            V[q] = 0.0 if d == V[q] else V[q] - d
            self.w = self.w + d * change

    def drop_zeros(self, i: int) -> None:
        self.V[i] = {y: alpha for y, alpha in self.V[i].items() if alpha > 0}

    def psi(self, i: int, y: tuple) -> float:
        return self.gain(i, y) - min(self.gain(i, z) for z, alpha in self.V[i].items() if alpha > 0)

    def psi_hat_max(self) -> float:
        spreads = [0.0]
        for i, V in enumerate(self.V):
            if self.chain.weight(i) > 0:
                F = [self.gain(i, y) for y in V]
                spreads.append(max(F) - min(F))
        return max(spreads)

    def algorithm_3(self) -> None:
        """From one type-I loop to the next."""
        changed = False
        for i in self.order():
            best = self.argmax(i)
            self.near(self.psi(i, best), self.tau)
            if self.psi(i, best) > self.tau:
                self.chosen_of(i)
                self.V[i].setdefault(best, 0.0)
                self.algorithm_2(i)
                changed = True
            self.drop_zeros(i)
        largest = self.psi_hat_max()
        self.near(largest, self.tau)
        if not changed:
            self.stopped = True
        elif self.iteration >= self.kappa1 and largest > self.tau:
            tau_v = largest / 2
            while True:
                self.iteration += 1
                for i in self.order():
                    self.algorithm_2(i)
                    self.drop_zeros(i)
                largest = self.psi_hat_max()
                self.near(largest, tau_v)
                if largest < tau_v or (self.iteration - self.kappa1) % self.kappa2 == 0:
                    break
        self.iteration += 1

    def algorithm_1(self) -> None:
        for i in self.order():
            while True:  # (4.1), over all outputs
                best = self.argmax(i)
                self.near(self.psi(i, best), self.tau)
                if self.psi(i, best) <= self.tau:
                    break
                self.chosen_of(i)
                self.V[i].setdefault(best, 0.0)
                self.V[i].setdefault(self.chain.truth[i], 0.0)
                self.algorithm_2(i)
                self.drop_zeros(i)
        psis = [self.psi(i, self.argmax(i)) for i in range(len(self.V)) if self.chain.weight(i) > 0]
        self.passes += 1  # the core's measuring takes a seed
        self.near(max(psis), self.tau)
        self.stopped = max(psis) <= self.tau


class NaiveNSlack(NaivePublished):
    """Algorithm 1 of Tsochantaridis et al. 2005: one QP over all cuts for each new cut."""

    def __init__(self, chain: NaiveChain, C: float, seed: int, epsilon: float) -> None:
        super().__init__(chain, C, seed)
        self.epsilon = epsilon
        self.S: list[list[tuple]] = [[] for _ in chain.X]

    def one_pass(self) -> None:
        added = False
        for i in self.order():
            best = self.argmax(i)
            slack = max([0.0, *(self.gain(i, y) for y in self.S[i])])
            self.near(self.gain(i, best), slack + self.epsilon)
            if self.gain(i, best) > slack + self.epsilon:
                self.chosen_of(i)
                self.S[i].append(best)
                self.solve()
                added = True
        self.stopped = not added

    def solve(self) -> None:
        """Σ αΔ − ½‖Σ αδ‖² over one simplex an example, block after block until nothing moves."""
        blocks = [
            (np.array([self.chain.delta(i, y) for y in S]),
             np.array([self.chain.loss(i, y) for y in S]), self.C * self.chain.weight(i))
            for i, S in enumerate(self.S) if S
        ]  # fmt: skip
        alphas = [np.zeros(len(costs)) for _, costs, _ in blocks]
        w = np.zeros_like(self.w)
        for _ in range(20_000):
            moved = 0.0
            for k, (D, costs, C) in enumerate(blocks):
                others = w - alphas[k] @ D
                alpha = solve_simplex_qp(D @ D.T, costs - D @ others, C)
                moved = max(moved, float(np.abs(alpha @ D - alphas[k] @ D).max()))
                w = others + alpha @ D
                alphas[k] = alpha
            if moved < 1e-9:
                break
        self.w = w
