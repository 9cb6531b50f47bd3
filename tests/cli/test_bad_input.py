"""Every bad input: exit code 2, one line on stderr that names the remedy, nothing on stdout."""

import pytest

SER4 = "plan --algorithm ser4 --means .8,.4 --players 32 --epsilon .25 --switches 2 --horizon 10000"

BAD = [
    ("simulate --means .7,.x", "'.x' in place 2"),
    ("simulate --means .7,,.5", "nothing in place 2"),
    ("simulate --means ''", "nothing in place 1"),
    ("simulate --means .7", "at least 2 arms"),
    ("simulate --means 1.5,.2", "means[0]=1.5 must be in [0, 1]"),
    ("simulate --means nan,.2", "must be finite"),
    ("simulate --problem 3 --means .7,.2", "one slope per arm"),
    ("simulate --algorithm ser33", "Did you mean 'ser3'?"),
    ("simulate --option radus=active", "Did you mean 'radius'?"),
    ("simulate --option radius=actve", "union, active"),
    ("simulate --option radius", "is not a pair"),
    ("simulate --problem 9", "Known names: 1"),
    ("simulate --scheme decent", "Did you mean 'decentralized'?"),
    ("simulate --set seats=5", "'seats' is not a parameter of decentralized, but of jury"),
    ("simulate --scheme jury --set quorum=5", "jury has: seats"),
    ("simulate --scheme jury --set seets=5", "Did you mean 'seats'?"),
    ("simulate --set quorum", "is not a pair"),
    ("watch --scheme jury --set liars=40", "leave nobody to trust"),
    ("simulate --protocol jury", "--protocol"),
    ("simulate --activity unifrm", "Did you mean 'uniform'?"),
    ("simulate --activity zipf:x", "is not the numbers that"),
    ("simulate --activity zipf:1,2", "is not the numbers that"),
    ("simulate --set quorum=papr", "'paper', 'ceil' or a number"),
    ("simulate --set quorum=0", "1 or more"),
    ("simulate --players 5", "Use at least 28 players"),
    ("simulate --players -3", "Somebody must play"),
    ("simulate --players many", "--players"),
    ("simulate --eta 1", "eta=1.0 must be in (0, 1)"),
    ("simulate --epsilon 0", "epsilon=0.0"),
    ("simulate --delta 2", "delta=2.0"),
    ("simulate --horizon 0", "1 or more"),
    ("simulate --trials 0", "--trials"),
    ("simulate --algorithm ser4", "probability of a reset"),
    ("simulate --algorithm ser4 --option phi=.01", "Give a horizon"),
    ("simulate --engine passe", "Did you mean 'passes'?"),
    ("simulate --engine passes --problem 3", "Use engine event or auto."),
    ("simulate --players 10000000000000", "GiB of memory"),
    ("reproduce --engine passe", "Use one of: auto, event, passes"),
    ("simulate --save nowhere/x.npz", "there is no folder"),
    ("simulate --save .", "it is a folder"),
    ("watch --problem 9", "Known names: 1"),
    ("watch --algorithm lucc", "Did you mean 'lucb'?"),
    ("plan --arms 1", "at least 2 arms"),
    ("plan --arms 3 --means .7,.5", "Leave --arms out"),
    ("plan --epsilon 2", "epsilon=2.0 must be in (0, 1]"),
    ("plan --delta 0", "delta=0.0 must be in (0, 1)"),
    ("plan --epsilon .5", "lets every option pass"),
    ("plan --visitors-per-day 10 --plays-per-day 3", "visitors who come once"),
    ("plan --scheme decentralized --players 3", "Use at least 28 players"),
    ("plan --scheme pooled", "runs in simulations only, not on devices"),
    ("plan --players 60 --events-per-day 0", "above 0"),
    ("plan --sweep etta", "Did you mean 'eta'?"),
    ("plan --sweep eta --out x.docx", ".png or .svg"),
    ("plan --sweep eta --out nowhere/x.png", "there is no folder"),
    ("plan --out x.png", "--sweep"),
    (
        "plan --scheme jury --algorithm ser4 --switches 2 --horizon 10000 --means .8,.1",
        "ser4 never",
    ),
    ("plan --algorithm ser4", "Give --switches"),
    (f"{SER4} --means .5,.5,.5", "no play is suboptimal"),
    (f"{SER4} --algorithm ser3", "--algorithm ser4"),
    (f"{SER4} --switches 0", "use ser3"),
    (f"{SER4} --horizon 0", "1 or more"),
    (f"{SER4} --sweep eta", "--algorithm ser3"),
    ("plan --privacy much", "or none"),
    ("plan --privacy 0", "privacy"),
    ("plan --privacy nan", "privacy"),
    ("plan --set seats=5", "Give --scheme as well"),
    ("plan --eta .2", "Give --scheme as well"),
    ("plan --scheme jury --privacy 1", "--set privacy=1"),
    ("plan --scheme jury --liars 1", "--set liars=5"),
    ("plan --plays-per-day 1 --events-per-day 5", "Give one of them"),
    ("plan --plays-per-day 1", "Give --players as well"),
    ("plan --visitors-per-day 0", "visitors_per_day=0"),
    ("plan --visitors-per-day 500 --players 20", "cannot come from 20 devices"),
    ("plan --players 9 --plays-per-day 0", "plays_per_day"),
    ("plan --days -1", "days"),
    ("plan --players 0", "n_players"),
    ("plan --liars -1", "--liars"),
    ("plan --means 1.2,.4", "must be in [0, 1]"),
    ("algorithms --jsn", "--json"),
    ("demo --players 5", "Use at least 28 players"),
    ("demo --players 5 --scheme jury", "Use at least 29 players"),
    ("demo --means .7", "at least 2 arms"),
    ("demo --means 1.5,.2", "must be in [0, 1]"),
    ("demo --scheme pooled", "Use one of: decentralized, jury"),
    ("demo --set seats=9", "not a parameter of decentralized, but of jury"),
    ("demo --gossip --chaos", "no server to kill"),
    ("certify revoke x.toml", "are required: NUMBER"),
    ("device nonsense", "Give one like http://"),
    ("device http://127.0.0.1:99999/experiments/x", "Give one like http://"),
    ("device http://127.0.0.1:1/experiments/x --means .7,x", "'x' in place 2"),
    ("device http://127.0.0.1:1/experiments/x", "The first join needs the board"),
    ("device http://127.0.0.1:1/experiments/x --page", "need a gossip:// address"),
    ("experiments list --server http://127.0.0.1:1", "`devote serve` runs there"),
    ("experiments list --server 127.0.0.1:1", "Give one like http://"),
    ("experiments open nowhere.toml", "nowhere.toml"),
    ("invites banner", "devote-server.db.token is not there. Give --token-file"),
    ("invites banner --count 0", "--count"),
    ("serve --limit strems=3", "is not known"),
    ("serve --limit streams=x", "needs a number"),
    ("serve --port 99999", "--port"),
    ("serve --host nowhere.invalid", "cannot be listened on"),
    ("serve --certificate token", "one is missing"),
    ("serve --certificate nowhere.pem --key token", "nowhere.pem is not a file"),
    ("serve --store nowhere/x.db", "nowhere"),
    ("token rotate", "There is no token in devote-server.db.token"),
]


@pytest.mark.parametrize(("command", "remedy"), BAD)
def test_bad_input(devote, command, remedy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["" if word == "''" else word for word in command.split()]
    ran = devote(*words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("devote: ")
    assert ran.err.count("\n") == 1
    assert remedy in ran.err
    assert "Traceback" not in ran.err
    assert not list(tmp_path.iterdir())


def test_a_folder_without_permission(devote, tmp_path, monkeypatch):
    # Root may write anywhere, so that the permission itself cannot be taken away here.
    monkeypatch.setattr("devote.cli.options.os.access", lambda *_: False)
    ran = devote("simulate", "--save", tmp_path / "x.npz")
    assert ran.code == 2
    assert "no permission" in ran.err


def test_a_file_that_turns_out_unwritable(devote):
    ran = devote("simulate", "--trials", 1, "--players", 32, "--save", "/proc/x.npz")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert "Choose another file" in ran.err
