// A banner that is one of three, and a survey that finds out which is best on phones and which on desktops.
// All that devote needs is the first half; the second shows the visitor how things stand.
import { join } from "./devote.js";

const BANNERS = {
  "Free delivery": ["On every order from 25 up, this week.", picture("delivery.svg")],
  "Spring harvest": ["The first leaves of the year are in.", picture("harvest.svg")],
  "Tea of the day": ["A different one each day, at half the price.", picture("tea.svg")],
};
// Which kind of visitor this is: it stays in this browser.
const segment = matchMedia("(pointer: coarse)").matches ? "phone" : "desktop";

// The pictures of all banners are fetched, whichever is shown: one alone could tell the kind.
function picture(src) {
  return Object.assign(new Image(), { src, alt: "", width: 96, height: 96 });
}

const { experiment, watch } = document.body.dataset;
const at = (id) => document.getElementById(id);

const device = join(experiment, {
  fallback: "Free delivery",
  within: 300,
  invite: async () => (await (await fetch("invite", { method: "POST" })).json()).invite,
});

const choice = await device.choose({ segment });
show(choice.name);
at("banner").onclick = async () => {
  await device.reward(1, choice).catch(() => undefined); // stored when this returns; offer.js sends it
  location.href = "offer";
};

function show(name) {
  const title = Object.assign(document.createElement("strong"), { textContent: name });
  const [words, image] = BANNERS[name] ?? [""];
  const text = Object.assign(document.createElement("span"), { textContent: words });
  at("banner").replaceChildren(title, text, ...(image ? [image] : []));
  at("banner").dataset.arm = name;
  at("banner").disabled = false;
}

// How things stand, once a second.
function tell() {
  const { joined, best, leader, sent, replyIn, trouble } = device.status();
  at("what").textContent = choice.play ? "a question: click it or not" : best === choice.name ? "the winner"
    : joined ? "the one that leads" : "the usual one";
  at("answer").textContent = replyIn !== null ? `leaves in ${Math.ceil(replyIn)} s, whatever you do`
    : sent > 0 ? "sent: one blurred answer, and never again" : "not asked for";
  at("kind").textContent = `${segment}, which your answer does not tell`;
  at("all").textContent = best ? `have settled on ${best}` : leader ? `${leader} leads so far` : "not known yet";
  at("trouble").textContent = trouble ? trouble.message : joined ? "all is well" : "not yet";
}
at("watch").href = watch;
setInterval(tell, 1000);
tell();
