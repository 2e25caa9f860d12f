/** The sign of Bailiff. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M9 9h14M9 16h9M9 23h14" />
      <circle cx="23" cy="16" r="2.4" />
    </svg>
  );
}
