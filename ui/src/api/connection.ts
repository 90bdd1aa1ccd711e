import { Store, useStore } from "../store";
import { isSeen } from "./seen";

/**
 *   online ── a request found nobody ──► lost ── /health/live answers ──► online, one return later
 */
export interface Connection {
  readonly online: boolean;
  readonly returns: number; // how often the server came back: what was read before is read again then
}

const PROBE = "/health/live";
const FIRST_MS = 500;
const LONGEST_MS = 5_000;
const SILENT_MS = 3_000;
const STREAM_SILENT_MS = 20_000; // a stream says something every 15 s, and breaks at once when its server dies

const connection = new Store<Connection>({ online: true, returns: 0 });
let probing = false;

export const useConnection = (): Connection => useStore(connection);

/** Somebody could not reach the server: say so, and look until it is back. */
export function lost(): void {
  const now = connection.get();
  if (now.online) connection.set({ ...now, online: false });
  if (!probing) void probe();
}

/** Told when a lost server is back. */
export function onReturn(listener: () => void): () => void {
  let { returns } = connection.get();
  return connection.watch(() => {
    const now = connection.get().returns;
    if (now !== returns) listener();
    returns = now;
  });
}

let heardAt = performance.now();
let streams = 0; // that are open

/** Something was answered: nobody has to look for the server. */
export function heard(): void {
  heardAt = performance.now();
}

/** A stream is open: for as long, its silence means little. */
export function streaming(): () => void {
  streams++;
  return () => {
    streams--;
  };
}

/** While the page is seen, look now and then, so that a server that is away is missed also where nothing is asked. */
export function watchServer(): () => void {
  const timer = setInterval(() => {
    const silent = performance.now() - heardAt;
    if (!isSeen() || probing || silent < (streams > 0 ? STREAM_SILENT_MS : SILENT_MS)) return;
    void answers().then((here) => (here ? heard() : lost()));
  }, SILENT_MS);
  return () => clearInterval(timer);
}

async function probe(): Promise<void> {
  probing = true;
  let wait = FIRST_MS;
  for (;;) {
    await pause(wait);
    if (await answers()) break;
    wait = Math.min(LONGEST_MS, wait * 1.5);
  }
  probing = false;
  connection.set({ online: true, returns: connection.get().returns + 1 });
}

async function answers(): Promise<boolean> {
  try {
    // Nobody has to be anybody for this: a token that is over would be refused, as if nobody were there.
    const answer = await fetch(PROBE, {
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(LONGEST_MS),
    });
    return answer.ok;
  } catch {
    return false;
  }
}

/** For a while, or until this machine has a network again. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    window.addEventListener("online", done);
  });
}
