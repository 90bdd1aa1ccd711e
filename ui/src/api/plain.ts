import { ask } from "./client";
import { asProblem, isAbort, type Problem } from "./problem";
import { isSeen, onSeen } from "./seen";

const EVERY_MS = 5_000;

/** What no stream brings is read every few seconds, while the page is seen. */
export class PlainReader {
  private reads: readonly string[] = [];
  private readonly going = new Map<string, AbortController>();
  private stop: (() => void) | null = null;

  constructor(private readonly took: (read: string, body: unknown, problem: Problem | null) => void) {}

  /** These from now on; those that are new, at once. */
  follow(reads: readonly string[]): void {
    const before = this.reads;
    this.reads = reads;
    for (const [read, control] of this.going) if (!reads.includes(read)) control.abort();
    if (reads.length > 0) this.stop ??= this.start();
    else {
      this.stop?.();
      this.stop = null;
    }
    this.read(reads.filter((each) => !before.includes(each)));
  }

  again(): void {
    this.read(this.reads);
  }

  private start(): () => void {
    const look = () => {
      if (isSeen()) this.again();
    };
    const timer = setInterval(look, EVERY_MS);
    const forget = onSeen(look);
    return () => {
      clearInterval(timer);
      forget();
    };
  }

  private read(reads: readonly string[]): void {
    for (const read of reads) if (!this.going.has(read)) void this.readOne(read);
  }

  private async readOne(read: string): Promise<void> {
    const control = new AbortController();
    this.going.set(read, control);
    try {
      this.took(read, await ask("GET", read, { namespace: null, signal: control.signal }), null);
    } catch (error) {
      if (!isAbort(error)) this.took(read, null, asProblem(error));
    } finally {
      if (this.going.get(read) === control) this.going.delete(read);
    }
  }
}
