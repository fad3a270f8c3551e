// The detectors that policies name. Each says where in a text something of its kind is; what follows from a find is said
// in core/results. Everything here is deterministic, and takes time in proportion to the text.

import { findCards } from './card.ts';
import { findEmails } from './email.ts';
import type { FindIn } from './find.ts';
import { findIbans } from './iban.ts';
import { findAddresses } from './ip.ts';
import { findPhones } from './phone.ts';
import { findSecrets } from './secrets.ts';

export const DETECTOR_NAMES = ['secrets', 'email', 'phone', 'iban', 'card', 'ip'] as const;
export type DetectorName = (typeof DETECTOR_NAMES)[number];

export const DETECTORS: Readonly<Record<DetectorName, FindIn>> = {
  secrets: findSecrets,
  email: findEmails,
  phone: findPhones,
  iban: findIbans,
  card: findCards,
  ip: findAddresses,
};

export function isDetector(name: string): name is DetectorName {
  return Object.hasOwn(DETECTORS, name);
}
