import { Component, lazy, Suspense, useMemo, useState, type ComponentType, type ReactNode } from "react";
import { useT } from "../words";
import { Button } from "./Button";

/** A module whose `default` is a component, loaded when it is needed. */
export type Load<P> = () => Promise<{ default: ComponentType<P> }>;

export interface LazyProps<P> {
  readonly load: Load<P>; // the same function each time: () => import("./Editor")
  readonly props: P;
  readonly waiting?: ReactNode;
}

/** A component in a chunk of its own. If it does not come, it can be asked for again. */
export function Lazy<P extends object>({ load, props, waiting }: LazyProps<P>) {
  const t = useT();
  const [turn, setTurn] = useState(0);
  // A browser remembers that a module failed: only another address makes it ask again, so the page is loaded anew.
  const Part = useMemo(() => lazy(() => retrying(load)), [load, turn]);
  const failed = (
    <div className="note bad" role="alert">
      <p>
        <strong>{t("lazy.failed")}.</strong> {t("lazy.failedMore")}
      </p>
      <Button onClick={() => setTurn(turn + 1)}>{t("problem.again")}</Button>{" "}
      <Button onClick={() => location.reload()}>{t("app.reload")}</Button>
    </div>
  );
  return (
    <Catch key={turn} instead={failed}>
      <Suspense fallback={waiting ?? <p className="soft pad">{t("app.loading")}</p>}>
        <Part {...props} />
      </Suspense>
    </Catch>
  );
}

const PAUSES_MS = [300, 1000];

async function retrying<P>(load: Load<P>): Promise<{ default: ComponentType<P> }> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await load();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return load();
}

class Catch extends Component<{ instead: ReactNode; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.instead : this.props.children;
  }
}
