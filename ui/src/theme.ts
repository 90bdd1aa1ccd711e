import { recall, remember } from "./kept";
import { Store, useStore } from "./store";

export type Theme = "auto" | "light" | "dark";
export const THEMES: readonly Theme[] = ["auto", "light", "dark"];

const kept = recall("theme");
const theme = new Store<Theme>(kept === "light" || kept === "dark" ? kept : "auto");
show(theme.get());

export const useTheme = (): Theme => useStore(theme);

export function setTheme(chosen: Theme): void {
  remember("theme", chosen === "auto" ? null : chosen);
  show(chosen);
  theme.set(chosen);
}

function show(chosen: Theme): void {
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
