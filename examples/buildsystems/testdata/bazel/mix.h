#pragma once
#define WORDS 16
