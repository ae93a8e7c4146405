#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The vocabulary of generated URLs. Any change alters the output of every seed, which the golden test reports. No two
// pairs of words may be equal when joined ("a" "bc", "ab" "c"), since a host is a pair of words and hosts must differ.
// No word may contain a digit: digits encode the URL's number.

namespace mankai::detail {

/// In a fixed field, so that writing it is one 16-byte store.
struct Word {
  std::array<char, 15> text{};
  std::uint8_t length = 0;

  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text.data(), length}; }
};

template <std::size_t kCount>
consteval std::array<Word, kCount> make_words(const std::array<std::string_view, kCount>& views) {
  std::array<Word, kCount> words{};
  for (std::size_t i = 0; i < kCount; ++i) {
    words[i].length = static_cast<std::uint8_t>(views[i].copy(words[i].text.data(), words[i].text.size()));
  }
  return words;
}

inline constexpr std::array<Word, 256> kWords = make_words<256>({
    "about",   "action",  "active",  "album",    "alpine",  "amber",    "anchor",  "apple",   "arch",    "arctic",
    "atlas",   "audio",   "autumn",  "award",    "badge",   "baker",    "bamboo",  "banner",  "barley",  "basic",
    "basket",  "beacon",  "bicycle", "birch",    "blanket", "board",    "border",  "bottle",  "branch",  "brick",
    "bridge",  "bright",  "bronze",  "budget",   "build",   "bundle",   "button",  "cabin",   "cable",   "camera",
    "candle",  "canvas",  "carbon",  "career",   "carpet",  "castle",   "casual",  "cedar",   "center",  "chart",
    "cheese",  "cherry",  "choice",  "circle",   "citrus",  "city",     "classic", "clean",   "clever",  "climate",
    "cloud",   "coach",   "coast",   "coffee",   "color",   "comet",    "compass", "concert", "copper",  "coral",
    "corner",  "cotton",  "county",  "couple",   "course",  "cover",    "craft",   "crystal", "culture", "custom",
    "daily",   "dance",   "dawn",    "delta",    "design",  "desert",   "digital", "dinner",  "direct",  "doctor",
    "dragon",  "dream",   "dress",   "drive",    "eagle",   "early",    "earth",   "easy",    "echo",    "editor",
    "elegant", "ember",   "energy",  "engine",   "event",   "expert",   "fabric",  "falcon",  "family",  "famous",
    "farm",    "fashion", "feather", "festival", "fiber",   "field",    "film",    "final",   "fitness", "flame",
    "flower",  "focus",   "forest",  "forum",    "fossil",  "fresh",    "frost",   "future",  "gadget",  "galaxy",
    "gallery", "garden",  "gentle",  "giant",    "glass",   "global",   "golden",  "grain",   "granite", "green",
    "group",   "guide",   "guitar",  "habit",    "hammer",  "happy",    "harbor",  "harvest", "hazel",   "health",
    "hidden",  "hiking",  "holiday", "honey",    "horizon", "hotel",    "house",   "icon",    "index",   "indigo",
    "island",  "ivory",   "jacket",  "jazz",     "journal", "jungle",   "kernel",  "kitchen", "ladder",  "lagoon",
    "lake",    "lamp",    "laptop",  "laser",    "leaf",    "leather",  "legend",  "lemon",   "letter",  "library",
    "light",   "lily",    "linen",   "local",    "lotus",   "lucky",    "lunar",   "magnet",  "major",   "maple",
    "marble",  "market",  "master",  "meadow",   "media",   "melody",   "metal",   "meteor",  "mirror",  "mobile",
    "modern",  "moment",  "monitor", "moss",     "motor",   "mountain", "museum",  "music",   "native",  "nature",
    "network", "noble",   "north",   "novel",    "oak",     "ocean",    "olive",   "opera",   "orange",  "orbit",
    "orchard", "organic", "origin",  "oxygen",   "paint",   "palace",   "panda",   "paper",   "park",    "pebble",
    "pepper",  "phone",   "photo",   "piano",    "picnic",  "pilot",    "pine",    "pixel",   "planet",  "plaza",
    "pocket",  "poem",    "polar",   "poster",   "quartz",  "rabbit",   "radar",   "raven",   "ribbon",  "river",
    "rocket",  "saddle",  "safari",  "salmon",   "silver",  "sunset",
});

inline constexpr std::array<Word, 64> kSections = make_words<64>({
    "news",     "blog",     "shop",      "products",  "articles", "docs",     "help",      "forum",
    "topics",   "events",   "media",     "images",    "static",   "assets",   "reviews",   "guides",
    "category", "tags",     "users",     "profile",   "archive",  "support",  "community", "library",
    "recipes",  "travel",   "sports",    "science",   "business", "culture",  "gallery",   "downloads",
    "careers",  "research", "projects",  "stories",   "videos",   "podcasts", "deals",     "brands",
    "catalog",  "authors",  "health",    "finance",   "weather",  "music",    "games",     "world",
    "local",    "opinion",  "tutorials", "reference", "api",      "search",   "wiki",      "lists",
    "offers",   "jobs",     "press",     "partners",  "tools",    "themes",   "photos",    "software",
});

}  // namespace mankai::detail
