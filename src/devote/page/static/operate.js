// What an operator does: open an experiment, hand out invites, withdraw an option, set an end, close.
// Each is a call of the server's own with the operator's token, which is in its field and nowhere else.

import { byId, element, fill, setAll, setText } from "./dom.js";

let name = "";
let planned = "";
let look = () => {};

async function call(token, method, path, body) {
  const answer = await fetch(path, {
    method,
    headers: { Authorization: `Bearer ${token.trim()}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

const seconds = (text) => (text === "" ? null : Math.floor(Date.parse(`${text}Z`) / 1000));

// Does one thing for this experiment and says what became of it.
async function operate(what, body, said) {
  const path = `experiments/${encodeURIComponent(name)}/${what}`;
  setText(byId("done"), "");
  try {
    setText(byId("done"), said(await call(byId("token").value, "POST", path, body)));
    look();
  } catch (problem) {
    setText(byId("done"), problem.message);
  }
}

function showInvites(found) {
  const base = found.url ?? new URL(`experiments/${encodeURIComponent(name)}`, location.href).href;
  byId("made").hidden = false;
  byId("invites").value = found.invites.map((invite) => `${base}#invite=${invite}`).join("\n");
  return `${found.invites.length} invites were made.`;
}

export function showOperate(view) {
  const broken = byId("broken");
  const chosen = view.name === name ? broken.value : null;
  if (view.name !== name) {
    name = view.name;
    byId("made").hidden = true;
    byId("invites").value = "";
    setText(byId("done"), "");
  }
  const left = view.arms.filter((arm) => arm.state !== "withdrawn");
  byId("withdrawing").hidden = view.scheme !== "survey" || view.status !== "open";
  fill(broken, left.length, () => element("option")).forEach((node, k) => {
    setAll(node, { value: left[k].name });
    setText(node, left[k].name);
  });
  // What was chosen stays so, wherever it stands now; if it is gone nothing is agreed to.
  if (broken.value === chosen) return;
  broken.selectedIndex = Math.max(0, left.findIndex((arm) => arm.name === chosen));
  if (broken.value !== chosen) byId("certain").checked = false;
}

function draft() {
  const value = (field) => byId(`draft-${field}`).value.trim();
  const privacy = value("privacy");
  const scheme = { name: "survey", privacy: privacy === "none" ? privacy : Number(privacy),
    reply_after: Number(value("after")) };
  const arms = value("arms").split("\n").map((arm) => arm.trim()).filter((arm) => arm !== "");
  return {
    visitors: Number(value("visitors")),
    rate: Number(value("rate")) / 100,
    opened: {
      spec: { name: value("name"), arms, epsilon: Number(value("epsilon")) / 100, scheme },
      enrolment: value("enrolment"),
      baseline: value("baseline"),
      ends: seconds(value("ends")),
      delete_after: seconds(value("delete")),
    },
  };
}

function showPlan(lines) {
  fill(byId("plan"), lines.length, () => element("li")).forEach((node, k) => {
    setText(node, lines[k]);
  });
}

async function plan() {
  const { opened, visitors, rate } = draft();
  try {
    const asked = { spec: opened.spec, visitors, rate };
    showPlan((await call(byId("draft-token").value, "POST", "plan", asked)).lines);
    planned = JSON.stringify(opened);
    byId("commit").disabled = false;
  } catch (problem) {
    showPlan([problem.message]);
  }
}

// What is opened is what the planner has answered to.
async function commit() {
  const token = byId("draft-token").value;
  try {
    await call(token, "POST", "experiments", JSON.parse(planned));
    byId("token").value = token;
    location.hash = `#${encodeURIComponent(JSON.parse(planned).spec.name)}`;
  } catch (problem) {
    showPlan([problem.message]);
  }
}

function onSubmit(form, work) {
  byId(form).addEventListener("submit", (event) => {
    event.preventDefault();
    work();
  });
}

export function prepareForms(lookAgain) {
  look = lookAgain;
  const into = (state) => () => operate("standing", { state }, () => `It is ${state} now.`);
  byId("close").addEventListener("click", into("closed"));
  byId("reopen").addEventListener("click", into("open"));
  onSubmit("ending", () => operate("standing", { ends: seconds(byId("ends").value) },
    ({ ends }) => (ends === null ? "It has no end date now." : "The end date is set.")));
  onSubmit("inviting", () => operate("invites", { count: Number(byId("count").value) }, showInvites));
  onSubmit("withdrawing", () => operate("withdrawals", { arm: byId("broken").value }, ({ number }) => {
    byId("certain").checked = false;
    return `It is withdrawn, as message ${number}.`;
  }));
  onSubmit("draft", plan);
  byId("draft").addEventListener("input", () => { byId("commit").disabled = true; });
  byId("commit").addEventListener("click", commit);
}
