const LEAST_MS = 500;
const REST = 3; // so many times as long as the last reading took, nothing is read

/**
 * When to read something anew that changes all the time: soon, never twice at once, and the slower the more it is.
 * What need not be read soon waits for as long as the last reading asked for.
 *
 *   idle ── want ──► due ── its time comes ──► reading ── done ──► idle, or due again
 */
export class Pacer {
  private timer: ReturnType<typeof setTimeout> | null = null;
  private readingSince: number | null = null;
  private soonFrom = 0;
  private laterFrom = 0;
  private wanted: "no" | "later" | "soon" = "no";

  constructor(
    private readonly read: () => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  want(soon = true): void {
    if (soon) this.wanted = "soon";
    else if (this.wanted === "no") this.wanted = "later";
    this.plan();
  }

  began(): void {
    this.readingSince = this.now();
  }

  done(restMs = 0): void {
    const now = this.now();
    const tookMs = now - (this.readingSince ?? now);
    this.readingSince = null;
    this.soonFrom = now + Math.max(LEAST_MS, tookMs * REST);
    this.laterFrom = Math.max(this.soonFrom, now + restMs);
    this.plan();
  }

  stop(): void {
    this.unplan();
    this.wanted = "no";
  }

  private plan(): void {
    this.unplan();
    if (this.wanted === "no" || this.readingSince !== null) return;
    const from = this.wanted === "soon" ? this.soonFrom : this.laterFrom;
    this.timer = setTimeout(
      () => {
        this.timer = null;
        this.wanted = "no";
        this.read();
      },
      Math.max(0, from - this.now()),
    );
  }

  private unplan(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}
