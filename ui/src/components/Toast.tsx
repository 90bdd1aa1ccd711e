import { Store, useStore } from "../store";
import { useT } from "../words";

type Tone = "good" | "bad";
interface Told {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
}

const SHOWN_MS = 5_000;
const told = new Store<readonly Told[]>([]);
let last = 0;

/** Say something in passing; it is heard and goes away by itself. */
export function toast(text: string, tone: Tone = "good"): void {
  const id = ++last;
  told.set([...told.get().slice(-2), { id, text, tone }]);
  setTimeout(() => told.set(told.get().filter((each) => each.id !== id)), SHOWN_MS);
}

export function Toasts() {
  const t = useT();
  const all = useStore(told);
  return (
    <section className="toasts" role="status" aria-live="polite" aria-label={t("toast.region")}>
      {all.map((each) => (
        <p key={each.id} className={`toast ${each.tone}`}>
          {each.text}
        </p>
      ))}
    </section>
  );
}
