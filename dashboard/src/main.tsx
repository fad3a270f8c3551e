// Where the dashboard begins in the browser.

import { render } from 'preact';
import { App } from './app.tsx';
import { startLive } from './live.ts';
import { startPending } from './pending.ts';
import { loadMe } from './session.ts';
import { startTheme } from './theme.ts';

startTheme();
// Should this fail, whatever the pages ask for fails too, and they say so.
loadMe().catch(() => {});
startPending();
startLive();
render(<App />, document.getElementById('app') as HTMLElement);
