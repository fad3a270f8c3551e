// Makes the browser ask before a tab with unsaved changes is closed or loaded again. Other pages of the dashboard can be
// visited without a question, because the text is kept (kept-drafts.ts).

import { useEffect } from 'preact/hooks';

export function useWarning(active: boolean): void {
  useEffect(() => {
    if (!active) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [active]);
}
