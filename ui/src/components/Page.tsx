import { useEffect, useRef, type ReactNode } from "react";
import { takeArrival } from "../router";

export interface PageProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly lead?: ReactNode; // a line below the title
  readonly actions?: ReactNode; // buttons beside it
  readonly crumbs?: ReactNode; // links above it
}

/** The frame of every page: its one first heading, and the title of the window. */
export function Page({ title, lead, actions, crumbs, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  // A screen reader hears which page it is on; the keyboard begins at its top.
  useEffect(() => {
    if (takeArrival() && !isWriting()) heading.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    document.title = `${title} · Windlass`;
  }, [title]);
  return (
    <div className="page">
      <header className="page-head">
        <div className="page-title">
          {crumbs && <p className="crumbs">{crumbs}</p>}
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
          {lead && <p className="lead">{lead}</p>}
        </div>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** Whether somebody writes already, in the search above: a page that took a while to come takes nothing from them. */
function isWriting(): boolean {
  const { activeElement: field } = document;
  return field instanceof HTMLInputElement && field.value !== "";
}
