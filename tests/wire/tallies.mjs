// How each scheme counts, written from docs/wire.md alone; nothing here needs Node.
export const GRID = 2 ** 53;
export const truths = (e, K) => GRID - Math.ceil(GRID / (Math.exp(e) * (1 - 2 ** -51) + K - 1)) * (K - 1);

// tallies: each takes a message, or says that it refuses it
const DEFAULTS = { decentralized: { quorum: "paper" }, jury: { seats: 29, liars: 0, privacy: null }, survey: { privacy: 1, answers: 1 } };
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
    const t = privacy === null ? 1 : truths(privacy, K) / GRID, q = (1 - t) / (K - 1);
    const r = privacy === null ? spec.eta : Math.min(1, q + (t - q) * (spec.eta + 1 / K));
    const n = seats - liars; let tail = 0, c = n + 1;
    for (let term = r ** n; c > 0 && (tail + term) * (privacy === null ? 1 : K - 1) <= spec.delta;) { // P(Bin >= c - 1)
      tail += term; c -= 1; term *= (c / (n - c + 1)) * ((1 - r) / r);
    }
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
  survey(spec, { privacy, answers }, K) {
    const T = privacy === null ? GRID : truths(privacy / answers, 2), rho = spec.options.rho ?? 5;
    const epsilon = Math.max(0, spec.epsilon * (2 * T - GRID) / GRID - 4 / GRID);
    const queues = Array.from({ length: K }, () => []), sums = Array(K).fill(0), given = new Set();
    let shared = [...queues.keys()], n = 0;
    return {
      kinds: ["answer"],
      take(m) {
        if (given.has(`${m.voter} ${m.number}`) || m.number > answers || shared.length === 1 || !shared.includes(m.arm)) return false;
        given.add(`${m.voter} ${m.number}`);
        queues[m.arm].push(m.bit);
        while (shared.length > 1 && shared.every(k => queues[k].length > n)) {
          for (const k of shared) sums[k] += queues[k][n];
          n += 1;
          const best = shared.reduce((a, b) => sums[b] > sums[a] ? b : a);
          const reach = Math.sqrt((n + rho) * (Math.log(1 + n / rho) / 2 + Math.log((K - 1) / spec.delta)));
          const lead = k => sums[best] - sums[k];
          shared = shared.every(k => k === best || lead(k) + n * epsilon >= reach) ? [best] : shared.filter(k => k === best || lead(k) < reach);
        }
        return true;
      },
      public() {
        const share = k => queues[k].length ? queues[k].reduce((a, b) => a + b) / queues[k].length : -0.5;
        const answer = [...shared].sort((a, b) => share(b) - share(a) || a - b);
        return { status: shared.length === 1 ? "agreed" : "open", answer, shared, counts: queues.map(a => a.length) };
      },
    };
  },
};
export const tally = (given, players = null) => {
  const scheme = { ...DEFAULTS[given.scheme.name], ...given.scheme };
  const spec = { algorithm: "ser3", epsilon: 0.25, delta: 0.05, eta: scheme.name === "jury" ? 0.2 : 0.9, ...given };
  const counted = TALLIES[scheme.name](spec, scheme, spec.arms.length, players), there = new Set();
  const key = m => Object.keys(m).sort().map(k => m[k]).join(" ");
  const take = m => !there.has(key(m)) && counted.kinds.includes(m.type) && m.experiment === spec.name
    && counted.take(m) && !!there.add(key(m));
  return { take, public: counted.public };
};
