export const COMMITTED: string;
export function buildInto(folder: string): void;
