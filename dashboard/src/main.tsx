// The entry point of the dashboard in the browser.

import { render } from 'preact';
import { App } from './app.tsx';
import { startLive } from './live.ts';
import { watchPending } from './notifications.ts';
import { startPending } from './pending.ts';
import { loadMe } from './session.ts';
import { startTheme } from './theme.ts';
import { startTitle } from './title.ts';

startTheme();
// If this fails, the requests of the pages fail too, and they show the error.
loadMe().catch(() => {});
startPending();
startLive();
startTitle();
watchPending();
render(<App />, document.getElementById('app') as HTMLElement);
