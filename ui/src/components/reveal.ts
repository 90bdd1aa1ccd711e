/** Brings the chosen one of a strip that scrolls sideways into sight; the page itself stays where it is. */
export function reveal(strip: HTMLElement | null, chosen: string): void {
  const found = strip?.querySelector<HTMLElement>(chosen);
  if (!strip || !found) return;
  const [outer, inner] = [strip.getBoundingClientRect(), found.getBoundingClientRect()];
  if (inner.right > outer.right) strip.scrollLeft += inner.right - outer.right;
  else if (inner.left < outer.left) strip.scrollLeft -= outer.left - inner.left;
}
