/** What this browser remembers. Storage can be forbidden or full: then nothing is remembered. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`windlass.${name}`);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`windlass.${name}`);
    else localStorage.setItem(`windlass.${name}`, value);
  } catch {
    // The choice holds for as long as the page is open.
  }
}
