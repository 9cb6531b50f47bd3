// Formulas as HTML: a list of [TeX, whether it stands alone] comes in, a list of HTML goes out.
import { readFileSync } from "node:fs";
import katex from "katex";

const formulas = JSON.parse(readFileSync(0, "utf8"));
const html = formulas.map(([tex, displayMode]) => katex.renderToString(tex, { displayMode, strict: "error" }));
process.stdout.write(JSON.stringify(html));
