// Loaded before any test by `npm test` (flags.ts): a service in the process of a test has cheap password hashes, too.

import { plugin } from 'bun';
import { cheapPasswords } from './cheap-passwords.ts';

plugin(cheapPasswords);
