// Moments in the reader's own zone, and clocks that go on counting.

export function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    const isToday = moment.toDateString() === new Date().toDateString();
    const day = isToday ? {} : { year: "numeric", month: "short", day: "numeric" };
    time.textContent = moment.toLocaleString([], { ...day, hour: "2-digit", minute: "2-digit" });
    time.title = `${time.dateTime} (UTC)`;
  }
}

export function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

export function count(root) {
  for (const element of root.querySelectorAll("[data-since]")) {
    const seconds = (Date.now() - new Date(element.dataset.since)) / 1000;
    element.textContent = duration(Math.max(0, Math.floor(seconds)));
  }
}

export function keepCounting() {
  count(document);
  setInterval(() => count(document), 1000);
}
