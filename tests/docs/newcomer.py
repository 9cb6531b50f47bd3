"""A newcomer's script: only what the pages under docs/ show. ``test_newcomer.py`` runs it.

A rule of one's own in ``my_rule.py``, a law of one's own, a sweep of players by eta by algorithm
that is interrupted and grown, a table, a picture, a paired comparison.
"""

from devote import (
    check_algorithm,
    compare,
    grid,
    load_results,
    problem_of_laws,
    run_sweep,
)

TRIALS = 6


def stop_soon(done, total, label):
    """Ctrl-C after four trials, one of each setting; then they come in blocks."""
    if done >= 4:
        raise KeyboardInterrupt


def main():
    import my_rule  # here, because pytest looks at this file too, where there is none

    check_algorithm(my_rule.ALGORITHM)
    laws = [lambda u: u**0.25, lambda u: u, lambda u: 0.5 * u]
    problem = problem_of_laws("rates", laws, points=200)

    def cells(sizes):
        return grid(
            problem=problem,
            n_players=sizes,
            eta=[0.5, 0.9],
            algorithm=["ser3", "my_rule"],
            epsilon=0.5,
            scheme={"quorum": 3},
        )

    try:
        run_sweep(cells([8]), trials=4, workers=1, results="sweep.jsonl", progress=stop_soon)
    except KeyboardInterrupt as stop:
        print(" ".join(str(stop).split()))
    begun = load_results("sweep.jsonl", partial=True)
    print("on disk:", sum(one.trials for one in begun))

    run_sweep(cells([8]), trials=4, workers=1, results="sweep.jsonl")
    sweep = run_sweep(cells([8, 16]), trials=TRIALS, workers=2, results="sweep.jsonl")
    print("cells:", len(sweep), "rows:", len(sweep.to_dataframe()))

    axes = sweep.plot("samples", x="n_players", by="algorithm")
    axes.figure.savefig("samples.png")
    sweep.to_csv("trials.csv")

    by = {(one.spec.algorithm, one.n_players, one.spec.eta): one for one in sweep}
    found = compare(by["my_rule", 16, 0.9], by["ser3", 16, 0.9])
    print(found.test, found.trials, found.low <= found.difference <= found.high)
    print(by["my_rule", 16, 0.9].summary()["good answers"].interval)


if __name__ == "__main__":
    main()
