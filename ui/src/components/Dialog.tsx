import { useId, useRef, type ReactNode } from "react";
import { useT } from "../words";
import { Button } from "./Button";
import { useModal } from "./modal";

export interface DialogProps {
  readonly open: boolean;
  readonly title: string;
  readonly children: ReactNode;
  readonly onClose: () => void;
  readonly wide?: boolean;
}

/** A window over the page for a form or a detail. */
export function Dialog({ open, title, children, onClose, wide }: DialogProps) {
  const t = useT();
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useModal(dialog, open);
  return (
    <dialog
      ref={dialog}
      className={wide ? "wide" : undefined}
      aria-labelledby={id}
      onClose={() => open && onClose()}
    >
      {open && (
        <>
          <div className="card-head">
            <h2 id={id}>{title}</h2>
            <Button kind="quiet" onClick={onClose} label={t("do.close")}>
              ✕
            </Button>
          </div>
          {children}
        </>
      )}
    </dialog>
  );
}
