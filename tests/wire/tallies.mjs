// Specifications in full, and how each scheme counts, written from docs/wire.md alone; nothing needs Node.
export const GRID = 2 ** 53;
export const truths = (e, K) => GRID - Math.ceil(GRID / (Math.exp(e) * (1 - 2 ** -51) + K - 1)) * (K - 1);

// specifications
const SCHEMES = {
  decentralized: { quorum: "paper" },
  jury: { seats: 29, seat_after: 20, liars: 0, privacy: "none", vote_after: 300 },
  survey: { privacy: 1, answers: 1, reply_after: 60, liars: 0 },
};
const OPTIONS = { ser3: { radius: "union" }, ser4: { radius: "union" }, mixture_elimination: { rho: 5 } };
export const complete = ({ version = 2, scheme = "decentralized", algorithm, options, issuer, ...given }) => {
  const { name = "decentralized", ...values } = typeof scheme === "string" ? { name: scheme } : scheme;
  if ("privacy" in values) values.privacy ??= "none";
  const arms = typeof given.arms === "number" ? [...Array(given.arms).keys()].map(String) : given.arms;
  algorithm ??= name === "decentralized" ? "ser3" : "betting";
  const { epsilon = 0.25 } = given;
  if (values.segments) {
    const { segments: { length: S }, privacy = 1 } = values;
    const sizes = privacy === "none" ? [1] : [...Array(S - 1).keys()].map(i => i + 1);
    const cost = d => noiseOf(S, d, privacy).cost(epsilon);
    values.subset ??= sizes.reduce((a, b) => cost(b) < cost(a) ? b : a);
  }
  return {
    version, epsilon, delta: 0.05, eta: name === "jury" ? 0.2 : 0.9, ...given, arms, algorithm,
    options: { ...OPTIONS[algorithm], ...options }, scheme: { name, ...SCHEMES[name], ...values }, ...(issuer ? { issuer } : {}),
  };
};

// segments: places of the noise, and what follows from them
export const noiseOf = (S, d, privacy) => {
  const u = privacy === "none" ? 0 : Math.ceil(GRID / (d * Math.exp(privacy) * (1 - 2 ** -51) + 2 * S - d));
  const other = d * u, absent = 2 * (S - d) * u, own = GRID - other - absent;
  const kappa = (own - other) / GRID, alpha = (own + other) / GRID, beta = (d - alpha) / (S - 1);
  const cost = epsilon => d / (2 * S * kappa ** 2) + epsilon ** 2 * beta * (1 - beta) / (2 * (alpha - beta) ** 2);
  return { own, other, absent, kappa, alpha, beta, cost };
};
const signsOf = ({ low, high }, S) => {
  const digits = x => Array.from({ length: 32 }, () => { const digit = x % 3; x = (x - digit) / 3; return [0, 1, -1][digit]; });
  const signs = [...digits(low), ...digits(high)];
  return signs.slice(S).every(sign => sign === 0) ? signs.slice(0, S) : null;
};

// tallies: each takes a message, or says that it refuses it
const TALLIES = {
  decentralized(spec, { quorum }, K, players) {
    const ratio = Math.log(spec.delta) / Math.log(spec.eta), whole = Math.round(ratio);
    const near = Math.abs(ratio - whole) <= 1e-12 * Math.max(1, ratio);
    const M = typeof quorum === "number" ? quorum : near ? whole : quorum === "paper" ? Math.floor(ratio) : Math.ceil(ratio);
    const votes = []; let term = 0;
    return {
      kinds: ["vote", "reset"],
      take(m) {
        if (m.term > term + 1 || (m.term > 0 && spec.algorithm !== "ser4")) return false;
        term = Math.max(term, m.term);
        if (m.type === "vote") votes.push(m);
        return true;
      },
      public() {
        const now = votes.filter(m => m.term === term), arms = [...Array(K).keys()];
        const n = arms.map(k => now.filter(m => m.arm === k).length);
        let shared = arms.filter(k => n[k] < M);
        if (!shared.length) shared = [n.indexOf(Math.min(...n))];
        const voters = [...new Set(now.map(m => m.voter))];
        const silent = voters.filter(v => shared.filter(k => now.some(m => m.voter === v && m.arm === k)).length + 1 >= shared.length);
        const status = shared.length === 1 ? "agreed" : players && silent.length >= players ? "stalled" : "open";
        return { status, answer: [...shared].sort((a, b) => n[a] - n[b] || a - b), shared };
      },
    };
  },
  jury(spec, { seats, liars, privacy }, K) {
    const n = seats - liars, t = privacy === "none" ? 1 : truths(privacy, K) / GRID, q = (1 - t) / (K - 1);
    const tail = (c, r) => { // P(Bin(n, r) >= c), the smallest terms first
      let sum = 0;
      for (let k = n, log = n * Math.log(r); k >= c; k -= 1, log += Math.log((k + 1) / (n - k)) + Math.log((1 - r) / r)) sum += Math.exp(log);
      return sum;
    };
    const failure = (c) => {
      if (privacy === "none") return tail(c, spec.eta);
      const r = q + (t - q) * (spec.eta + (1 - spec.eta) / K);
      return tail(c, r) + (K - 2) * tail(c, c - 1 >= n * r ? q + (t - q) / K : r);
    };
    let c = 1;
    while (failure(c) > spec.delta) c += 1;
    const needed = liars + c, picks = new Map(), counts = Array(K).fill(0); let verdict = null;
    return {
      kinds: ["claim", "pick"],
      take(m) {
        if (m.type === "claim") return picks.size < seats && !!picks.set(m.voter, null);
        if (!picks.has(m.voter) || picks.get(m.voter) !== null) return false;
        picks.set(m.voter, m.arm);
        if (++counts[m.arm] >= needed) verdict ??= m.arm;
        return true;
      },
      public() {
        const arms = [...Array(K).keys()], stalled = verdict === null && counts.reduce((a, b) => a + b) === seats;
        const answer = arms.filter(k => counts[k] || !stalled).sort((a, b) => counts[b] - counts[a] || a - b);
        if (verdict !== null) return { status: "agreed", answer: [verdict], shared: [verdict] };
        return { status: stalled ? "stalled" : "open", answer, shared: arms };
      },
    };
  },
  survey(spec, { privacy, answers, liars, segments, subset }, K) {
    if (segments) return segmented(spec, K, segments.length, subset, noiseOf(segments.length, subset, privacy), liars);
    const T = privacy === "none" ? GRID : truths(privacy / answers, 2);
    const epsilon = Math.max(0, spec.epsilon * (2 * T - GRID) / GRID - 4 / GRID);
    const bits = Array.from({ length: K }, () => []), queues = bits.map(() => []), given = new Set(), gone = [];
    const learner = LEARNERS[spec.algorithm](spec, K, epsilon, liars);
    let round = new Map(), isAnew = false;
    const clear = () => queues.forEach((_, k) => { if (!learner.asked().includes(k)) queues[k] = []; });
    const end = () => { learner.round(round); round = new Map(); clear(); };
    const isComplete = () => learner.asked().every(k => round.has(k));
    const feed = () => {
      for (;;) {
        if (isAnew && round.size === 0) { isAnew = false; learner.anew(gone); clear(); }
        if (learner.left().length === 1) return;
        const next = learner.asked().find(k => !round.has(k));
        if (!queues[next].length) return;
        round.set(next, queues[next].shift());
        if (isComplete()) end();
      }
    };
    const withdraw = arm => {
      if (gone.includes(arm) || learner.left().length === 1) return false;
      gone.push(arm);
      learner.takeOut(arm);
      round.delete(arm);
      isAnew = true;
      if (round.size > 0 && (learner.asked().length === 1 || isComplete())) end();
      clear();
      feed();
      return true;
    };
    return {
      kinds: spec.algorithm === "betting" ? ["answer", "withdrawal"] : ["answer"],
      take(m) {
        if (m.type === "withdrawal") return withdraw(m.arm);
        if (given.has(`${m.voter} ${m.number}`) || m.number > answers || learner.left().length === 1) return false;
        given.add(`${m.voter} ${m.number}`);
        bits[m.arm].push(m.bit);
        if (!learner.asked().includes(m.arm)) return true;
        queues[m.arm].push(m.bit);
        feed();
        return true;
      },
      public() {
        const share = k => bits[k].length ? bits[k].reduce((a, b) => a + b) / bits[k].length : -0.5, shared = learner.left();
        const answer = [...shared].sort((a, b) => share(b) - share(a) || a - b);
        const more = { asked: learner.asked(), snapshot: given.size + gone.length, counts: bits.map(a => a.length) };
        if (gone.length) more.withdrawn = gone;
        return { status: shared.length === 1 ? "agreed" : "open", answer, shared, ...more };
      },
    };
  },
};

function segmented(spec, K, S, d, noise, liars) {
  const counts = Array(K).fill(0), given = new Set(), arms = [...counts.keys()];
  const learners = Array.from({ length: S }, () => segment(spec, K, S, noise, liars));
  const queues = learners.map(() => arms.map(() => []));
  const shared = () => arms.filter(k => learners.some(z => z.shared().includes(k)));
  const status = z => z.asked().length ? "open" : "agreed";
  return {
    kinds: ["segmented_answer"],
    take(m) {
      const signs = signsOf(m, S);
      if (given.has(m.voter) || !signs || signs.filter(Boolean).length !== d || learners.every(z => !z.asked().length)) return false;
      given.add(m.voter);
      counts[m.arm] += 1;
      learners.forEach((learner, z) => {
        if (!learner.asked().includes(m.arm)) return;
        queues[z][m.arm].push(signs[z]);
        while (learner.asked().length && learner.asked().every(k => queues[z][k].length)) {
          learner.round(new Map(learner.asked().map(k => [k, queues[z][k].shift()])));
          arms.forEach(k => { if (!learner.asked().includes(k)) queues[z][k] = []; });
        }
      });
      return true;
    },
    public() {
      const open = arms.filter(k => learners.some(z => z.asked().includes(k))), all = shared();
      const led = k => learners.filter(z => z.leader() === k).length;
      return {
        status: open.length ? "open" : "agreed", shared: all, answer: [...all].sort((a, b) => led(b) - led(a) || a - b),
        asked: open.length ? open : all, counts: [...counts], snapshot: given.size,
        segments: learners.map(z => ({ status: status(z), leader: z.leader(), shared: z.shared(), asked: z.asked() })),
      };
    },
  };
}
const segment = (spec, K, S, { kappa, alpha, beta, cost }, liars) => {
  const SIGNS = [-1, 0, 1], G = s => (Math.abs(s) - beta) / (alpha - beta);
  const D = c => (s, r) => (s - r) / (2 * kappa) + c * (G(s) + G(r)) / 2;
  const all = step => SIGNS.flatMap(s => SIGNS.map(r => step(s, r)));
  const settling = D(spec.epsilon - 4 / GRID / kappa), dropping = D(0), q = Math.min(0.02, 1 / (2 * S));
  const B = -Math.min(...all(settling), ...all(dropping)), enough = Math.log(S * (K - 1) / spec.delta);
  const halves = Math.max(0, Math.ceil(Math.log2(0.95 / B * cost(spec.epsilon) / (1.4 * spec.epsilon * q))));
  const stakes = Array.from({ length: halves + 1 }, (_, i) => 0.95 / B / 2 ** i);
  const rounds = [], sums = Array(K).fill(0), taken = Array(K).fill(0), settled = new Set();
  const isProved = (j, a, step) => {
    const [most, least] = [Math.max(...all(step)), Math.min(...all(step))];
    const logs = stakes.map(g => rounds.reduce((sum, signs) => signs.has(j) && signs.has(a) ? sum + Math.log1p(g * step(signs.get(j), signs.get(a))) : sum, 0)
      - liars * (Math.log1p(g * most) - Math.log1p(g * least)));
    const top = Math.max(...logs);
    return top + Math.log(logs.reduce((sum, x) => sum + Math.exp(x - top), 0) / stakes.length) >= enough;
  };
  let left = [...sums.keys()], leader = null, judged = 0, isDecided = false;
  const best = () => left.reduce((a, b) => sums[b] / taken[b] > sums[a] / taken[a] ? b : a);
  return {
    leader: () => leader ?? 0,
    shared: () => isDecided ? [leader] : left,
    asked: () => isDecided ? [] : left.filter(k => leader === null || k === leader || !settled.has(`${leader} ${k}`)),
    round(signs) {
      signs.forEach((sign, k) => { [sums[k], taken[k]] = [sums[k] + sign, taken[k] + 1]; });
      rounds.push(signs);
      if (rounds.length <= judged + Math.floor(judged / 500)) return;
      judged = rounds.length;
      leader = best();
      for (const a of left.filter(k => k !== leader)) {
        if (!settled.has(`${leader} ${a}`) && isProved(leader, a, settling)) settled.add(`${leader} ${a}`);
        if (settled.has(`${leader} ${a}`) && isProved(leader, a, dropping)) left = left.filter(k => k !== a);
      }
      isDecided = left.every(k => k === leader || settled.has(`${leader} ${k}`));
    },
  };
};

// learners: each takes a round, a bit for each asked arm
const LEARNERS = {
  mixture_elimination(spec, K, epsilon) {
    const sums = Array(K).fill(0), { rho } = spec.options;
    let left = [...sums.keys()], n = 0;
    return {
      left: () => left,
      asked: () => left,
      round(bits) {
        bits.forEach((bit, k) => { sums[k] += bit; });
        n += 1;
        const best = left.reduce((a, b) => sums[b] > sums[a] ? b : a), lead = k => sums[best] - sums[k];
        const reach = Math.sqrt((n + rho) * (Math.log(1 + n / rho) / 2 + Math.log((K - 1) / spec.delta)));
        left = left.every(k => k === best || lead(k) + n * epsilon >= reach) ? [best] : left.filter(k => k === best || lead(k) < reach);
      },
    };
  },
  betting(spec, K, epsilon, liars) {
    const table = () => Array.from({ length: K }, () => Array(K).fill(0));
    const rounds = table(), wins = table(), settled = table(), sums = Array(K).fill(0), taken = Array(K).fill(0);
    const shares = [], enough = Math.log((K - 1) / spec.delta);
    for (let g = 1.4 * epsilon; g < 0.9; g *= 1.5) shares.push(g);
    shares.push(0.9);
    const isProved = (j, a, s) => {
      let w = wins[j][a], l = wins[a][j];
      const t = rounds[j][a], i = Math.max(0, Math.ceil((liars - (t - w - l)) / 2));
      if (i > w) return false;
      [w, l] = [w - i, l + liars - i];
      const logs = shares.map(g => w * Math.log1p(g * (1 + s)) + l * Math.log1p(-g * (1 - s)) + (t - w - l) * Math.log1p(g * s));
      const most = Math.max(...logs);
      return most + Math.log(logs.reduce((sum, x) => sum + Math.exp(x - most), 0) / shares.length) >= enough;
    };
    let left = [...sums.keys()], leader = null;
    const judge = () => {
      leader = left.reduce((a, b) => sums[b] / taken[b] > sums[a] / taken[a] ? b : a);
      const others = left.filter(a => a !== leader);
      for (const a of others) settled[leader][a] ||= isProved(leader, a, epsilon);
      left = others.every(a => settled[leader][a]) ? [leader] : left.filter(a => a === leader || !isProved(leader, a, 0));
    };
    return {
      left: () => left,
      takeOut(arm) { left = left.filter(k => k !== arm); },
      anew(gone) {
        left = [...sums.keys()].filter(k => !gone.includes(k));
        leader = null;
        settled.forEach(row => row.fill(0));
        if (left.every(k => taken[k])) judge();
      },
      asked: () => left.filter(k => leader === null || k === leader || !settled[leader][k]),
      round(bits) {
        bits.forEach((bit, j) => {
          [sums[j], taken[j]] = [sums[j] + bit, taken[j] + 1];
          bits.forEach((other, a) => { if (a !== j) [rounds[j][a], wins[j][a]] = [rounds[j][a] + 1, wins[j][a] + (bit > other)]; });
        });
        judge();
      },
    };
  },
};
export const tally = (spec, players = null) => {
  const counted = TALLIES[spec.scheme.name](spec, spec.scheme, spec.arms.length, players), there = new Set();
  const key = m => Object.keys(m).sort().map(k => m[k]).join(" ");
  const take = m => !there.has(key(m)) && counted.kinds.includes(m.type) && m.experiment === spec.name
    && counted.take(m) && !!there.add(key(m));
  return { take, public: counted.public };
};
