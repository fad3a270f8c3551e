// Light or dark: as the system says until somebody chooses; the choice is kept in this browser.

import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const STORED = 'toolgate.theme';

export const theme = signal<Theme>(stored());

function stored(): Theme {
  const value = localStorage.getItem(STORED);
  return value === 'light' || value === 'dark' ? value : 'system';
}

export function startTheme(): void {
  effect(() => {
    if (theme.value === 'system') {
      localStorage.removeItem(STORED);
      delete document.documentElement.dataset['theme'];
    } else {
      localStorage.setItem(STORED, theme.value);
      document.documentElement.dataset['theme'] = theme.value;
    }
  });
}
