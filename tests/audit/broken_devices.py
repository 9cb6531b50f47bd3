"""Devices and schemes that break the promise of privacy, each in one way."""

from dataclasses import replace

from devote.audit.watched import SimulatedDevice
from devote.rules.randomizer import blur_reward, truthful
from devote.schemes import Jury, Survey
from devote.schemes.jury.scheme import Juror


class SendsOnClick(SimulatedDevice):
    """An answer leaves when the reward comes."""

    def click(self, now):
        self.reply_at, moment = None, self.reply_at
        super().click(now)
        self.reply_at = moment


class SilentWithoutClick(SimulatedDevice):
    """No reward, no answer."""

    def end_play(self, now):
        if self.player.pending is not None:
            self.player.reward(0.0)


class RedrawsOnRetry(SimulatedDevice):
    """The reward is kept, and every copy has noise of its own."""

    paid = 0.0

    def open(self, now):
        arm = super().open(now)
        if arm is not None and self.player.answers_left:
            self.paid = 0.0
        return arm

    def click(self, now):
        if self.player.answers_left:
            self.paid = 1.0
        super().click(now)

    def leave(self, now):
        truths = self.spec.scheme.truths
        noisy = lambda: blur_reward(self.paid, self.dice.random(), truths)  # noqa: E731
        return [replace(message, bit=noisy()) for message in super().leave(now)]

    def settle(self, now, message):
        for one in list(self.waiting):
            del self.waiting[one]


class AsksAgainAfterAClick(SimulatedDevice):
    """The next question begins as soon as the last one has its reward."""

    def open(self, now):
        if self.player.pending is None:
            self.reply_at = None
        return super().open(now)


class CountsRewardedPlays(SimulatedDevice):
    """An open while a play waits for its click is no activation, for ten minutes."""

    opened = -1e9

    def open(self, now):
        if self.player.pending is not None and now < self.opened + 600.0:
            return None
        self.opened = now
        return super().open(now)


class HastyJuror(Juror):
    """Picks when it is done."""

    _later = 0.5

    def _wake(self, noise):
        self._later = noise
        super()._wake(noise)

    def _learn(self, eliminated, *, was_reset):
        if self.is_juror and not self._picked and self.best is not None:
            self._pick(self._blurred(self._later))


class HastyJury(Jury):
    def player(self, spec, voter, n_players=None):
        return HastyJuror(spec, voter, n_players)


LOUD = 1.7


class LoudSurvey(Survey):
    """The truth too often: e of 1.7 whatever is promised."""

    @property
    def truths(self):
        return truthful(LOUD, 2)


class LoudJury(Jury):
    """The same for picks."""

    def truths(self, n_arms):
        return truthful(LOUD, n_arms)
