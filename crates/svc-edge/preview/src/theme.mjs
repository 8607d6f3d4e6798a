// Dark or light: as the system has it, until one is chosen here.

const system = matchMedia("(prefers-color-scheme: light)");
let chosen = null;

export const isDark = () => (chosen ?? (system.matches ? "light" : "dark")) === "dark";

const apply = () => (document.documentElement.dataset.theme = isDark() ? "dark" : "light");

export function onThemeChange(button, redraw) {
  const change = () => {
    apply();
    redraw();
  };
  button.onclick = () => {
    chosen = isDark() ? "light" : "dark";
    change();
  };
  system.addEventListener("change", change);
}

apply();
