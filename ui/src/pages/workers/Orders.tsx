import { useState } from "react";
import { at, post, useAct } from "../../api";
import { Button, Confirm, Link, toast } from "../../components";
import { useWords } from "../../words";
import type { Worker } from "./types";
import { words } from "./words";

type Order = "pause" | "resume" | "drain" | "kick";

export interface OrdersProps {
  readonly worker: Worker;
  readonly onDone: () => void;
}

/** What an admin may tell a worker; each asks once. The one inside a node takes no orders of its own. */
export function Orders({ worker, onDone }: OrdersProps) {
  const t = useWords(words);
  if (!worker.builtIn) return <OrdersOf worker={worker} onDone={onDone} />;
  return (
    <p className="soft">
      {t("partOfNode")} <Link to="/ui/cluster">{t("toCluster")}</Link>
    </p>
  );
}

function OrdersOf({ worker, onDone }: OrdersProps) {
  const t = useWords(words);
  const [asked, setAsked] = useState<Order | null>(null);
  const ordering = useAct();
  const id = worker.id;
  const give = async (order: Order) => {
    if (!(await ordering.act(() => post(at("/workers/:worker/:order", { worker: id, order }))))) return;
    setAsked(null);
    toast(t(`done.${order}`, { id }));
    onDone();
  };
  const offered: readonly Order[] = [worker.halt ? "resume" : "pause", "drain", "kick"];
  return (
    <>
      <div className="actions">
        {offered.map((order) => (
          <Button
            key={order}
            needs="administer"
            onClick={() => setAsked(order)}
            disabled={order !== "kick" && worker.halt === "draining"}
            reason={t("drainsAlready")}
          >
            {t(order)}
          </Button>
        ))}
      </div>
      <Confirm
        open={asked !== null}
        title={asked ? t(`${asked}Ask`, { id }) : ""}
        confirm={asked ? t(asked) : ""}
        danger={asked === "kick" || asked === "drain"}
        busy={ordering.busy}
        problem={ordering.problem}
        onConfirm={() => asked && void give(asked)}
        onClose={() => {
          ordering.forget();
          setAsked(null);
        }}
      >
        <p>{asked && t(`${asked}More`)}</p>
      </Confirm>
    </>
  );
}
