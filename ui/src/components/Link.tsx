import type { MouseEvent, ReactNode } from "react";
import { navigate, usePlace, withNamespace } from "../router";

export interface LinkProps {
  readonly to: string;
  readonly children: ReactNode;
  readonly className?: string;
  readonly current?: boolean; // it leads to the page that is shown
  readonly label?: string;
  readonly title?: string; // on hover: what may be cut off
}

/** A real link that changes the page without loading it anew. */
export function Link({ to, children, className, current, label, title }: LinkProps) {
  usePlace(); // the namespace in the address may have changed
  const open = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a
      href={withNamespace(to)}
      onClick={open}
      className={className}
      aria-current={current ? "page" : undefined}
      aria-label={label}
      title={title}
    >
      {children}
    </a>
  );
}
