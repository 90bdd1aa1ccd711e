import { Store, useStore } from "../store";
import { API } from "./client";
import { parseJson } from "./exact";
import { follow, type LiveState } from "./live";
import { PlainReader } from "./plain";
import { problemFrom, type Problem } from "./problem";
import type { Message } from "./sse";

/**
 * All that the page shows of the server comes over one stream, whoever shows it:
 *
 *   useAsk, usePages ── what is wanted ──► hub ── GET /live?read=…&read=… ──► answers, as they change
 *
 * One, because a browser has six connections to a server, and a page shows more things than that. Another set of
 * reads is another stream; what goes beyond what one takes is read plainly, and so is all if there is none.
 */
export interface Told {
  readonly data: unknown; // what was answered last, also if it is refused by now
  readonly problem: Problem | null;
}

type Listener = (told: Told) => void;

interface Wanted {
  readonly listeners: Set<Listener>;
  text: string; // as it came
  told: Told | null;
}

const READS_MAX = 16;
const ADDRESS_MAX = 6_000; // characters; servers take a first line of 8,190
const COLLECT_MS = 20;

export class Hub {
  readonly state = new Store<LiveState>("connecting");
  private readonly wanted = new Map<string, Wanted>();
  private readonly plain = new PlainReader((read, body, problem) => this.take(read, body, problem));
  private streamed: readonly string[] = [];
  private refused = false; // there is no stream, for now or for good
  private stop: (() => void) | null = null;
  private settling: ReturnType<typeof setTimeout> | null = null;
  private anew = false;

  /** Hear what a path answers, now and whenever that changes. It names its namespace itself. */
  watch(read: string, listener: Listener): () => void {
    let wanted = this.wanted.get(read);
    if (wanted === undefined) {
      wanted = { listeners: new Set(), text: "", told: null };
      this.wanted.set(read, wanted);
      this.settle();
    }
    const { listeners, told } = wanted;
    listeners.add(listener);
    if (told !== null) listener(told);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.settle();
    };
  }

  /** Read all of it at once. A new stream, so that nothing older comes after it. */
  again(): void {
    this.anew = true;
    this.settle();
  }

  /** Soon: who comes and goes together causes one stream. */
  private settle(): void {
    this.settling ??= setTimeout(() => {
      this.settling = null;
      for (const [read, { listeners }] of this.wanted) if (listeners.size === 0) this.wanted.delete(read);
      const reads = fitting([...this.wanted.keys()]);
      const same = reads.join(" ") === this.streamed.join(" ");
      if (!same || this.anew) this.open(reads);
      this.plainly();
      if (this.anew) this.plain.again();
      this.anew = false;
    }, COLLECT_MS);
  }

  private open(reads: readonly string[]): void {
    this.stop?.();
    this.streamed = reads;
    this.stop = null;
    if (reads.length === 0) return;
    this.stop = follow(`${API}/live?${query(reads)}`, {
      namespace: null,
      onMessage: (message) => this.hear(message),
      onState: (state, problem) => this.turn(state, problem),
    });
  }

  private turn(state: LiveState, problem: Problem | null): void {
    if (state === "connecting") return;
    this.state.set(state);
    const refused = problem !== null && !problem.unreachable;
    if (refused !== this.refused && (refused || state === "open")) {
      this.refused = refused;
      this.plainly();
    }
    if (problem?.unreachable) for (const read of this.streamed) this.take(read, null, problem);
  }

  private plainly(): void {
    const all = [...this.wanted.keys()];
    this.plain.follow(this.refused ? all : all.filter((read) => !this.streamed.includes(read)));
  }

  private hear(message: Message): void {
    if (message.event !== "answer") return;
    const { read, status, body } = parseJson<{
      read: string;
      status: number;
      body: unknown;
    }>(message.data);
    const wanted = this.wanted.get(read);
    if (wanted === undefined) return;
    if (wanted.text === message.data && wanted.told?.problem === null) return tell(wanted, wanted.told);
    wanted.text = message.data;
    this.take(read, body, status < 400 ? null : problemFrom(status, body));
  }

  private take(read: string, body: unknown, problem: Problem | null): void {
    const wanted = this.wanted.get(read);
    if (wanted !== undefined)
      tell(wanted, { data: problem === null ? body : (wanted.told?.data ?? null), problem });
  }
}

function tell(wanted: Wanted, told: Told): void {
  wanted.told = told;
  for (const listener of [...wanted.listeners]) listener(told);
}

function query(reads: readonly string[]): string {
  return reads.map((read) => `read=${encodeURIComponent(read)}`).join("&");
}

/** Those that one stream takes: the first that were wanted, so that it stays the same while others come and go. */
function fitting(reads: readonly string[]): readonly string[] {
  let fit = reads.slice(0, READS_MAX);
  while (query(fit).length > ADDRESS_MAX) fit = fit.slice(0, -1);
  return fit;
}

export const hub = new Hub();

/** Whether what is shown follows the server. */
export const useFollowing = (): LiveState => useStore(hub.state);
