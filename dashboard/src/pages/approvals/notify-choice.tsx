// The button that switches notifications of the browser on and off. The browser asks for permission only when it is
// pressed.

import { hasNotifications, notifies, startNotifications, stopNotifications } from '../../notifications.ts';
import { mayResolve } from '../../session.ts';

export function NotifyChoice() {
  if (!hasNotifications || !mayResolve.value) return null;
  const on = notifies.value;
  return (
    <button type="button" class="plain small" onClick={on ? stopNotifications : startNotifications}>
      {on ? 'Stop notifying me' : 'Notify me in the background'}
    </button>
  );
}
