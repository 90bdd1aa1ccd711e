import { useId, type ReactNode } from "react";
import { useMay, type Right } from "../api/session";

export interface ButtonProps {
  readonly children: ReactNode;
  readonly onClick?: () => void;
  readonly kind?: "plain" | "main" | "danger" | "quiet";
  readonly type?: "button" | "submit";
  readonly needs?: Right; // who may not is told why
  readonly everywhere?: boolean; // it is about all namespaces at once
  readonly busy?: boolean;
  readonly disabled?: boolean;
  readonly reason?: string; // why it is disabled
  readonly label?: string; // for a button that shows only a sign
  readonly expanded?: boolean;
  readonly pressed?: boolean;
}

/** Stays in the order of the keyboard while it may not be pressed, so that its reason can be heard. */
export function Button(props: ButtonProps) {
  const { children, onClick, kind = "plain", type = "button", busy = false, disabled = false } = props;
  const may = useMay(props.needs, props.everywhere);
  const id = useId();
  const reason = may.ok ? (disabled ? (props.reason ?? "") : "") : may.reason;
  const off = busy || disabled || !may.ok;
  return (
    <>
      <button
        type={type}
        className={`button ${kind}`}
        aria-disabled={off || undefined}
        aria-busy={busy || undefined}
        aria-label={props.label}
        aria-expanded={props.expanded}
        aria-pressed={props.pressed}
        aria-describedby={reason ? id : undefined}
        title={reason || props.label}
        onClick={(event) => {
          if (off) event.preventDefault();
          else onClick?.();
        }}
      >
        {children}
      </button>
      {reason && (
        <span id={id} className="unseen">
          {reason}
        </span>
      )}
    </>
  );
}
