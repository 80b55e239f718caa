// Colours. Those of parts (Okabe and Ito) are told apart with any kind of colour vision, on light and dark paper.

export const PARTS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#b8a800"];

// Positions in PARTS of the parts with a usual colour; others take the next one.
const USUAL = {
  computation: 0, forward: 0, parameters: 0,
  backward: 1, backward_input: 1, "transfers out": 1, gradients: 1,
  receive: 2, optimizer: 2,
  allreduce: 3, "all-reduce": 3, activations: 3,
  send: 4, transfers: 4, "transfers in": 4, workspace: 4, "buffers and workspace": 4,
  backward_weight: 5,
  recompute: 6, reserved: 6,
};
export const colourOf = (name, position) => PARTS[USUAL[name] ?? position % PARTS.length];

// Text that can be read on it.
export const onColour = (colour) => ([PARTS[0], PARTS[2], PARTS[5]].includes(colour) ? "#ffffff" : "#000000");

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
let printing = false;
const listeners = [];

export const isDark = () => !printing && (chosen ?? (dark.matches ? "dark" : "light")) === "dark";

export function colours() {
  return isDark()
    ? { text: "#e6e6e6", faint: "#9aa0a6", line: "#3c4043", card: "#1f2124", mark: "#ff6b6b" }
    : { text: "#202124", faint: "#5f6368", line: "#dadce0", card: "#ffffff", mark: "#b3261e" };
}

function changed() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  for (const listener of listeners) listener();
}

export function onTheme(listener) {
  listeners.push(listener);
}

export function toggleTheme() {
  chosen = isDark() ? "light" : "dark";
  changed();
}

export function followTheme() {
  dark.addEventListener("change", changed);
  // Paper is white.
  window.addEventListener("beforeprint", () => ((printing = true), changed()));
  window.addEventListener("afterprint", () => ((printing = false), changed()));
  changed();
}
