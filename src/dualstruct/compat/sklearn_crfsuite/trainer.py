"""The trainer that a CRF uses if it is given no other."""

from __future__ import annotations

from typing import Any

from dualstruct.compat.pycrfsuite import Trainer

__all__ = ["LinePerIterationTrainer"]


class LinePerIterationTrainer(Trainer):
    """Prints one line an iteration instead of CRFsuite's paragraph."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print what the iteration arrived at."""
        parts = [f"Iter {info['num']:<3}", f"time={info['time']:.2f}", f"loss={info['loss']:.2f}"]
        if "active_features" in info:
            parts.append(f"active={info['active_features']}")
        if "avg_f1" in info:
            parts += [
                f"precision={info['avg_precision']:.3f}",
                f"recall={info['avg_recall']:.3f}",
                f"F1={info['avg_f1']:.3f}",
                f"Acc(item/seq)={info['item_accuracy_float']:.3f} "
                f"{info['instance_accuracy_float']:.3f}",
            ]
        parts.append(f"feature_norm={info['feature_norm']:.2f}")
        print("  ".join(parts))

    def on_optimization_end(self, log: str) -> None:
        """Print how well each label of the development data was found in the end."""
        last = None if self.logparser is None else self.logparser.last_iteration
        if last and last["scores"]:
            width = max(5, *map(len, last["scores"]))
            print(f"{'Label':{width}}  Precision  Recall     F1  Support")
            for label, score in sorted(last["scores"].items()):
                shares = (score.precision or 0.0, score.recall or 0.0, score.f1 or 0.0)
                precision, recall, f1 = (f"{share:.3f}" for share in shares)
                print(f"{label:{width}}  {precision:>9}  {recall:>6}  {f1}  {score.ref:>7}")
        super().on_optimization_end(log)
